#include "dist/launch/rank.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "dist/transport/plugins.h"
#include "dist/transport/shm_transport.h"

namespace kiln::dist {
namespace {

RankLink* the_link = nullptr;

std::string chosen_transport(const std::string& by_default) {
  const char* const chosen = std::getenv("KILN_TRANSPORT");
  return chosen == nullptr || *chosen == '\0' ? by_default : chosen;
}

// The transport of a rank that hears of lost ranks by its launcher.
std::unique_ptr<Transport> connect(const LaunchedRank& rank, std::chrono::milliseconds limit) {
  const RankPlace& place = rank.place;
  const std::string scope = "transport/" + std::to_string(rank.epoch);
  const std::string name = chosen_transport(rank.is_one_host ? "shm" : "gloo");
  if (name == "shm" && rank.is_one_host)
    return make_shm_transport(*the_link, scope, place.rank, place.size, limit);
  if (name == "shm") throw std::runtime_error("the transport `shm` is for ranks of one host");
  if (name == "gloo")
    return make_gloo_transport(*the_link, scope, place.rank, place.size, the_link->host_address(), limit);
  throw std::runtime_error("`kiln run` knows no transport `" + name + "`: there are `shm` and `gloo`");
}

}  // namespace

RankProcessLink::RankProcessLink(const std::string& program) {
  const std::optional<LaunchedRank> rank = launched_rank();
  if (!rank) return;
  link_ = std::make_unique<RankLink>(rank->rendezvous, rank->secret,
                                     Hello{rank->place.rank, rank->epoch, program});
  the_link = link_.get();
}

RankProcessLink::~RankProcessLink() { the_link = nullptr; }

RankLink* launcher_link() { return the_link; }

std::string hash_of(const std::string& bytes) {
  // FNV-1a of 64 bits.
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return std::to_string(hash);
}

int thread_share(const RankPlace& place, int most) {
  const auto processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return std::clamp(processors / place.local_size, 1, most);
}

Membership join_job(std::chrono::milliseconds limit) {
  Membership membership;
  if (const std::optional<LaunchedRank> rank = launched_rank(); rank && the_link != nullptr) {
    membership.place = rank->place;
    membership.epoch = rank->epoch;
    membership.transport = rank->place.size == 1 ? make_self_transport() : connect(*rank, limit);
    membership.transport->on_end([] {
      if (the_link != nullptr) the_link->on_lost({});
    });
    the_link->on_lost(
        [transport = membership.transport.get()](const std::vector<int>& ranks, const std::string& why) {
          transport->lose(ranks, why);
        });
  } else if (const std::optional<RankPlace> place = place_of_mpi()) {
    membership.place = *place;
    membership.transport = make_mpi_transport();
  } else {
    membership.transport = make_self_transport();
  }
  return membership;
}

bool has_transport(const std::string& name) { return name == "shm" || has_plugin(name); }

}  // namespace kiln::dist
