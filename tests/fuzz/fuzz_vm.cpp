// Runs random programs of host values in every way the machine knows, which must show the same: to the end,
// stopped and gone on with between instructions, and compiled from the first call on.
//   fuzz_vm [--seeds from:to] [--show]
// Under the sanitizers it is a test of the instructions themselves: of counts, registers and handlers.
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "interpreter/vm/impl.h"
#include "lang/diagnostic.h"
#include "tensor/error.h"
#include "tests/capture/shrink.h"
#include "tests/fuzz/host_program.h"

namespace {

using namespace kiln::testing;
using kiln::interp::Interpreter;
using kiln::interp::Options;
using kiln::interp::Progress;
using kiln::interp::Value;

constexpr std::uint64_t kMostInstructions = 200'000;  // of a program that does not end
constexpr std::uint64_t kPieces[] = {1, 7, 100};

// What `main` prints and gives, or the error it ends in. `piece`: that many instructions at a time, 0: all of
// them.
std::string shown(const Program& program, std::uint64_t piece, bool compiled) {
  std::string output;
  Options options;
  options.out = [&output](std::string_view text) { output += text; };
  options.err = [](std::string_view) {};
  options.hot_after = compiled ? 0 : -1;
  options.recursion_limit = 200;
  Interpreter interpreter(std::move(options));
  try {
    interpreter.run("program.kiln", text_of(program));
    const Value* main = interpreter.main().find("main");
    if (main == nullptr) return "there is no main";
    kiln::interp::Vm& vm = interpreter.impl().vm;
    Value result;
    if (piece == 0) {
      result = vm.call(*main, {});
    } else {
      Progress progress = vm.call_for(*main, {}, piece);
      for (std::uint64_t spent = piece; !progress.is_done() && spent < kMostInstructions; spent += piece)
        progress = vm.resume(std::move(progress.suspended), piece);
      if (!progress.is_done()) return "it does not end";
      result = std::move(progress.value);
    }
    output += interpreter.repr(result) + "\n";
  } catch (const kiln::lang::UserError& error) {
    output += render(error.diagnostic());
  } catch (const kiln::InternalError& error) {
    output += fmt::format("internal: {}\n", error.what());
  }
  return output;
}

std::optional<std::string> problem(const Program& program) {
  // In pieces first: what does not end is found there.
  const std::string expected = shown(program, kPieces[2], false);
  if (expected == "it does not end" || expected.find("RecursionError") != std::string::npos)
    return std::nullopt;
  if (expected.find("internal: ") != std::string::npos) return expected;
  const auto differs = [&](const std::string& how, const std::string& found) {
    return fmt::format("{}\n---- in pieces of {}\n{}---- else\n{}", how, kPieces[2], expected, found);
  };
  for (const std::uint64_t piece : kPieces) {
    const std::string found = shown(program, piece, false);
    if (found != expected) return differs(fmt::format("in pieces of {}", piece), found);
  }
  const std::string whole = shown(program, 0, false), compiled = shown(program, 0, true);
  if (whole != expected) return differs("to the end", whole);
  if (compiled != expected) return differs("compiled", compiled);
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t from = 0, to = 100;
  bool show = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--show") show = true;
    if (option == "--seeds" && i + 1 < argc) {
      char* end = nullptr;
      from = std::strtoull(argv[++i], &end, 10);
      to = *end == ':' ? std::strtoull(end + 1, nullptr, 10) : from + 1;
    }
  }
  for (std::uint64_t seed = from; seed < to; ++seed) {
    const Program program = HostWriter(seed).write();
    if (show) std::printf("# seed %llu\n%s", static_cast<unsigned long long>(seed), text_of(program).c_str());
    if (show) std::printf("# shows\n%s\n", shown(program, kPieces[2], false).c_str());
    if (!problem(program)) continue;
    const Program small = shrunk(program, [](const Program& p) { return problem(p).has_value(); });
    std::printf("seed %llu: %s---- program\n%s\n", static_cast<unsigned long long>(seed),
                problem(small)->c_str(), text_of(small).c_str());
    return 1;
  }
  std::printf("%llu programs\n", static_cast<unsigned long long>(to - from));
  return 0;
}
