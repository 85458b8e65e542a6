// Runs random programs in the interpreter and compiled, and compares everything they show:
//   capture_programs --seeds from:to [--themes a,b] [--jobs N] [--minutes M] [--keep-going] [--small N]
//   [--show] [--forms] [--device name]
// A program that differs is made small and printed, with --small the first N of each kind. In the end stands
// how many programs of each kind there were, of how many of them something was compiled that could have
// differed, how many differ, and of how many of these --check tells nothing. With --show programs are
// printed, not run, and with --forms it is counted how many of them have each form.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interpreter/capture/loop_unrolling.h"
#include "jit/runtime/bound_program.h"
#include "tests/capture/given.h"
#include "tests/capture/shrink.h"
#include "tests/capture/workers.h"

namespace {

using namespace kiln::testing;

// Programs of one kind, and how many of them had what.
struct Tally {
  std::int64_t programs = 0;
  std::int64_t differ = 0;
  Seen had;   // how many programs
  Seen seen;  // how often in all
  void add(const Seen& of_program) {
    ++programs;
    seen.add(of_program);
    for (std::size_t k = 0; k < had.counts.size(); ++k) had.counts[k] += of_program.counts[k] > 0 ? 1 : 0;
  }
};

struct Settings {
  Programs programs{{0, 1}, {}};
  int jobs = 1;
  std::int64_t small = std::numeric_limits<std::int64_t>::max();
  double minutes = 0;  // 0: without limit
  bool keep_going = false;
  bool show = false;
  bool count_forms = false;
  std::string program;  // a file
};

std::vector<std::string> themes_of(const std::string& list) {
  const std::vector<std::string> known = theme_names();
  std::vector<std::string> themes;
  std::istringstream parts(list);
  for (std::string name; std::getline(parts, name, ',');) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      std::fprintf(stderr, "there is no theme %s, only %s\n", name.c_str(),
                   fmt::format("{}", fmt::join(known, " ")).c_str());
      std::exit(2);
    }
    themes.push_back(std::move(name));
  }
  return themes;
}

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--keep-going") settings.keep_going = true;
    if (option == "--show") settings.show = true;
    if (option == "--forms") settings.count_forms = true;
    if (option == "--program") settings.program = value;
    if (option == "--jobs") settings.jobs = std::max(1, std::atoi(value));
    if (option == "--small") settings.small = std::atoi(value);
    if (option == "--device") set_device_of_runs(value);
    if (option == "--themes") settings.programs.themes = themes_of(value);
    if (option == "--minutes") settings.minutes = std::atof(value);
    if (option == "--seeds") {
      char* end = nullptr;
      settings.programs.seeds.from = std::strtoull(value, &end, 10);
      settings.programs.seeds.to =
          *end == ':' ? std::strtoull(end + 1, nullptr, 10) : settings.programs.seeds.from + 1;
    }
  }
  return settings;
}

void show(const Programs& programs) {
  for (std::uint64_t seed = programs.seeds.from; seed < programs.seeds.to; ++seed) {
    const Program program = random_program(seed, programs.themes);
    std::printf("# seed %llu: %s\n%s\n", static_cast<unsigned long long>(seed), program.kind.c_str(),
                text_of(program).c_str());
  }
}

void count_forms(const Programs& programs) {
  std::map<std::string, int> counts;
  for (std::uint64_t seed = programs.seeds.from; seed < programs.seeds.to; ++seed) {
    for (const std::string& form : random_program(seed, programs.themes).forms) ++counts[form];
  }
  for (const auto& [form, count] : counts) std::printf("%7d %s\n", count, form.c_str());
}

// What is left of a program may loop for ever where its counter went: that is no difference unless it was
// one. Nor is it the same difference where what is left ends in an error.
Program made_small(const Program& program, const std::string& difference) {
  const std::string kind = kind_of(difference);
  const unsigned most_seconds = kind == kDoesNotEnd ? kMostSeconds : 10;
  return shrunk(program, [&, errors = errors_of(difference)](const Program& smaller) {
    const auto found = difference_apart(smaller, most_seconds);
    return found && kind_of(*found) == kind && errors_of(*found) <= errors;
  });
}

void report(const Ran& ran, const Programs& programs, bool made_small_too) {
  const Program program = random_program(ran.seed, programs.themes);
  const auto found = difference_apart(program);
  std::printf("seed %llu (%s)%s: %s\n", static_cast<unsigned long long>(ran.seed), ran.kind.c_str(),
              found ? "" : ", only after the programs before it in its process",
              found.value_or(*ran.difference).c_str());
  std::fflush(stdout);  // making it small may take long
  if (!found || !made_small_too) return;
  const Program small = made_small(program, *found);
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
    std::printf("%s %10lld\n", text.c_str(), static_cast<long long>(of.differ));
  };
  std::printf("%-12s %8s %10s %10s %10s %10s %10s %10s %10s %10s %10s %10s\n", "kind", "programs", "graphs",
              "hits", "breaks", "loops", "trips", "gradients", "symbols", "recompiled", "unreported",
              "differ");
  for (const auto& [kind, tally] : kinds) {
    row(kind, tally);
    all.programs += tally.programs;
    all.differ += tally.differ;
    all.had.add(tally.had);
    all.seen.add(tally.seen);
  }
  row("all", all);
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = settings_of(argc, argv);
  // Programs are short: what comes after many calls or iterations comes early here.
  kiln::interp::capture::unroll_limits() = {2, 5, 2};
  kiln::jit::set_binds_after(1);
  if (settings.show || settings.count_forms) {
    settings.show ? show(settings.programs) : count_forms(settings.programs);
    return 0;
  }
  if (!settings.program.empty()) return run_in_every_way(given_program(settings.program)) ? 0 : 1;
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> until;
  if (settings.minutes > 0)
    until = Clock::now() +
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(settings.minutes * 60));
  std::map<std::string, Tally> kinds;
  std::int64_t programs = 0, failures = 0;
  run_programs(settings.programs, settings.jobs, until, [&](const Ran& ran) {
    ++programs;
    Tally& kind = kinds[ran.kind];
    kind.add(ran.seen);
    if (!ran.difference) return true;
    ++failures;
    report(ran, settings.programs, ++kind.differ <= settings.small);
    return settings.keep_going;
  });
  print(kinds);
  std::printf("%lld programs, %lld differ\n", static_cast<long long>(programs),
              static_cast<long long>(failures));
  return failures == 0 ? 0 : 1;
}
