// Runs random programs in the interpreter and compiled, and compares everything they show:
//   capture_programs --seeds from:to [--keep-going] [--show]
// A program that differs is made small and printed. With --show programs are printed, not run.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/capture/apart.h"
#include "tests/capture/shrink.h"

namespace {

using namespace kiln::testing;

void report(std::uint64_t seed, const Program& program) {
  const Program small = shrunk(program, [](const Program& p) { return difference_apart(p).has_value(); });
  std::printf("seed %llu: %s---- program\n%s\n", static_cast<unsigned long long>(seed),
              difference_apart(small)->c_str(), text_of(small).c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t from = 0, to = 1;
  bool keep_going = false, show = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--keep-going") keep_going = true;
    if (option == "--show") show = true;
    if (option == "--seeds" && i + 1 < argc) {
      char* end = nullptr;
      from = std::strtoull(argv[++i], &end, 10);
      to = *end == ':' ? std::strtoull(end + 1, nullptr, 10) : from + 1;
    }
  }
  int failures = 0;
  for (std::uint64_t seed = from; seed < to; ++seed) {
    const Program program = random_program(seed);
    if (show) {
      std::printf("# seed %llu\n%s\n", static_cast<unsigned long long>(seed), text_of(program).c_str());
      continue;
    }
    if (!difference_apart(program)) continue;
    ++failures;
    report(seed, program);
    if (!keep_going) break;
  }
  if (!show) std::printf("%llu programs, %d differ\n", static_cast<unsigned long long>(to - from), failures);
  return failures == 0 ? 0 : 1;
}
