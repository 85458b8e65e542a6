#include "interpreter/host/rank_job.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "dist/launch/rank.h"
#include "interpreter/shadow.h"
#include "tensor/collective.h"
#include "tensor/timeline.h"
#include "tensor/warning.h"

namespace kiln::interp {
namespace {

struct Job {
  kiln::dist::RankPlace place;
  std::unique_ptr<kiln::timeline::PhaseWatch> phases;
  std::unique_ptr<kiln::dist::Controller> controller;
};

Job& job() {
  static Job only;
  return only;
}

// Other ranks may wait while this one compiles.
std::string activity(const kiln::timeline::PhaseWatch& phases) {
  using kiln::timeline::Kind;
  for (const kiln::timeline::Phase& phase : phases.open()) {
    if (phase.kind == Kind::Capture || phase.kind == Kind::Compile || phase.kind == Kind::Wait)
      return "compiles `" + phase.name + "`";
  }
  return "";
}

kiln::dist::Controller::Options options(const kiln::timeline::PhaseWatch& phases) {
  return {kiln::dist::Settings::from_environment(),
          [](const std::string& sentence) { kiln::warn("dist: " + sentence); },
          [&phases] { return activity(phases); }};
}

}  // namespace

void join_ranks() {
  if (job().controller) return;
  try {
    kiln::dist::Membership joined = kiln::dist::join_job();
    job().place = joined.place;
    job().phases = std::make_unique<kiln::timeline::PhaseWatch>();
    job().controller =
        std::make_unique<kiln::dist::Controller>(std::move(joined.transport), options(*job().phases));
  } catch (const kiln::dist::PeerLost& lost) {
    throw kiln::OpError(kiln::ErrorKind::RanksLost, lost.what());
  } catch (const std::runtime_error& error) {
    throw kiln::OpError(kiln::ErrorKind::Value, std::string("dist.init: ") + error.what());
  }
  kiln::set_collectives(job().controller.get());
}

void leave_ranks(bool together) {
  if (!job().controller) return;
  if (together) job().controller->leave();
  kiln::set_collectives(nullptr);
  job().controller.reset();
  job().phases.reset();
}

kiln::dist::Controller* rank_controller() { return job().controller.get(); }

kiln::dist::Controller& joined_controller() {
  if (job().controller) return *job().controller;
  shadow::need_run();
  throw kiln::OpError(kiln::ErrorKind::Value, "this process has not joined the ranks of a job yet", {},
                      "call `dist.init()` first");
}

kiln::dist::RankPlace rank_place() {
  if (job().controller) return job().place;
  if (const auto launched = kiln::dist::launched_rank()) return launched->place;
  return kiln::dist::place_of_mpi().value_or(kiln::dist::RankPlace{});
}

}  // namespace kiln::interp
