// Runs random programs in the interpreter and compiled, and compares everything they show:
//   capture_programs --seeds from:to [--jobs N] [--minutes M] [--keep-going] [--show]
// A program that differs is made small and printed. In the end stands how many programs of each kind there
// were, and of how many of them something was compiled that could have differed. With --show programs are
// printed, not run.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <fmt/format.h>

#include "interpreter/capture/trips.h"
#include "jit/replay.h"
#include "tests/capture/shrink.h"
#include "tests/capture/workers.h"

namespace {

using namespace kiln::testing;

// Programs of one kind, and how many of them had what.
struct Tally {
  std::int64_t programs = 0;
  Seen had;   // how many programs
  Seen seen;  // how often in all
  void add(const Seen& of_program) {
    ++programs;
    seen.add(of_program);
    for (std::size_t k = 0; k < had.counts.size(); ++k) had.counts[k] += of_program.counts[k] > 0 ? 1 : 0;
  }
};

struct Settings {
  Range seeds{0, 1};
  int jobs = 1;
  double minutes = 0;  // 0: without limit
  bool keep_going = false;
  bool show = false;
};

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--keep-going") settings.keep_going = true;
    if (option == "--show") settings.show = true;
    if (option == "--jobs") settings.jobs = std::max(1, std::atoi(value));
    if (option == "--minutes") settings.minutes = std::atof(value);
    if (option == "--seeds") {
      char* end = nullptr;
      settings.seeds.from = std::strtoull(value, &end, 10);
      settings.seeds.to = *end == ':' ? std::strtoull(end + 1, nullptr, 10) : settings.seeds.from + 1;
    }
  }
  return settings;
}

void show(Range seeds) {
  for (std::uint64_t seed = seeds.from; seed < seeds.to; ++seed) {
    const Program program = random_program(seed);
    std::printf("# seed %llu: %s\n%s\n", static_cast<unsigned long long>(seed), program.kind.c_str(),
                text_of(program).c_str());
  }
}

// What is left of a program may loop for ever where its counter went: that is no difference unless it was
// one.
Program made_small(const Program& program, bool does_not_end) {
  constexpr unsigned kFewSeconds = 10;
  return shrunk(program, [does_not_end](const Program& smaller) {
    const auto found = difference_apart(smaller, does_not_end ? kMostSeconds : kFewSeconds);
    return found && (*found == kDoesNotEnd) == does_not_end;
  });
}

void report(const Ran& ran) {
  const Program program = random_program(ran.seed);
  const auto found = difference_apart(program);
  std::printf("seed %llu (%s)%s: %s\n", static_cast<unsigned long long>(ran.seed), ran.kind.c_str(),
              found ? "" : ", only after the programs before it in its process",
              found.value_or(*ran.difference).c_str());
  std::fflush(stdout);  // making it small may take long
  if (!found) return;
  const Program small = made_small(program, *found == kDoesNotEnd);
  std::printf("---- made small: %s---- program\n%s\n", difference_apart(small).value_or("").c_str(),
              text_of(small).c_str());
  std::fflush(stdout);
}

void print(const std::map<std::string, Tally>& kinds) {
  Tally all;
  const auto row = [](std::string_view name, const Tally& of) {
    std::string text = fmt::format("{:12} {:8}", name, of.programs);
    for (std::size_t k = 0; k < Seen::kKinds; ++k) {
      const bool as_sum = k == Seen::Graphs || k == Seen::Hits;
      text += fmt::format(" {:10}", as_sum ? of.seen.counts[k] : of.had.counts[k]);
    }
    std::printf("%s\n", text.c_str());
  };
  std::printf("%-12s %8s %10s %10s %10s %10s %10s %10s %10s %10s\n", "kind", "programs", "graphs", "hits",
              "breaks", "loops", "trips", "gradients", "symbols", "recompiled");
  for (const auto& [kind, tally] : kinds) {
    row(kind, tally);
    all.programs += tally.programs;
    all.had.add(tally.had);
    all.seen.add(tally.seen);
  }
  row("all", all);
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = settings_of(argc, argv);
  // Programs are short: what comes after many calls or trips comes early here.
  kiln::interp::capture::trip_limits() = {2, 5, 2};
  kiln::jit::set_replays_after(1);
  if (settings.show) {
    show(settings.seeds);
    return 0;
  }
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> until;
  if (settings.minutes > 0)
    until = Clock::now() +
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(settings.minutes * 60));
  std::map<std::string, Tally> kinds;
  std::int64_t programs = 0, failures = 0;
  run_programs(settings.seeds, settings.jobs, until, [&](const Ran& ran) {
    ++programs;
    kinds[ran.kind].add(ran.seen);
    if (!ran.difference) return true;
    ++failures;
    report(ran);
    return settings.keep_going;
  });
  print(kinds);
  std::printf("%lld programs, %lld differ\n", static_cast<long long>(programs),
              static_cast<long long>(failures));
  return failures == 0 ? 0 : 1;
}
