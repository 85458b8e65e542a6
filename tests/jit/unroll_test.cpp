// Kernels whose loop computes several vectors in a turn give the bits of the ops, for any number of elements.
#include "jit/cpu/unroll.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <random>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/passes/passes.h"
#include "jit/passes/run_recipe.h"
#include "jit/runtime/executable.h"
#include "tensor/functions.h"
#include "tests/jit/fused_support.h"
#include "tests/tensor/tensors.h"
#include "tests/tensor/threads.h"

namespace kiln::unroll_test {

using namespace kiln::jit;
using namespace kiln::testing;

namespace {

// x is `steps` times x * y + 1, of which each waits for the one before.
std::string chain_of(const std::string& type, int steps, const std::string& step = "mul") {
  std::string text, last = "%x";
  for (int k = 0; k < steps; ++k) {
    text += fmt::format("  %a{0} = {1}({2}, %y) : {3}\n  %b{0} = add(%a{0}, 1) : {3}\n", k, step, last, type);
    last = fmt::format("%b{}", k);
  }
  return text;
}
std::string returned(const std::string& type, const std::string& body, int steps) {
  return fmt::format("graph functional f(%x: {0}, %y: {0}) {{\n{1}  return %b{2}\n}}\n", type, body,
                     steps - 1);
}
int unroll_in(const Graph& graph) {
  const std::string loops = fuse(graph).loops().at(0);
  constexpr std::string_view kWords = ", unrolled by ";
  const std::size_t at = loops.find(kWords);
  return at == std::string::npos ? 1 : loops[at + kWords.size()] - '0';
}

// Steps that are an instruction or two, each of which takes what was made last and something from before.
class Chain {
 public:
  explicit Chain(unsigned seed) : engine_(seed) {}

  Graph run(const std::string& dtype) {
    const std::string type = dtype + "[m, n]";
    std::string text = fmt::format(
        "graph functional f(%v0: {0}, %v1: {1}[n], %v2: {1}[m, 1], %c: bool[m, n]) where m = 3, n = 5 {{\n",
        type, dtype);
    int count = 3;
    const int length = 24 + pick(40);
    for (; count < length; ++count) text += step(count, dtype, type);
    return parse_graph(text + fmt::format("  return %v{}, %v{}\n}}\n", count - 1, count - 5));
  }

 private:
  int pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(engine_); }
  std::string step(int count, const std::string& dtype, const std::string& type) {
    const auto before = [&] {
      return fmt::format("%v{}", pick(3) == 0 ? 0 : std::max(0, count - 1 - pick(4)));
    };
    const std::string last = fmt::format("%v{}", count == 3 ? 0 : count - 1);
    const auto applied = [&](const char* op, const std::string& rest) {
      return fmt::format("  %v{} = {}({}{}) : {}\n", count, op, last, rest, type);
    };
    static const char* const kBinary[] = {"add", "mul", "sub", "maximum", "minimum"};
    switch (pick(9)) {
      case 0:
        return fmt::format("  %t{0} = le({1}, {2}) : bool[m, n]\n  %v{0} = where(%t{0}, {1}, {2}) : {3}\n",
                           count, last, before(), type);
      case 1:
        return fmt::format("  %v{} = where(%c, {}, {}) : {}\n", count, last, before(), type);
      case 2:
        return fmt::format(
            "  %t{0} = lt({1}, {2}) : bool[m, n]\n  %u{0} = cast(%t{0}, dtype={3}) : {4}\n"
            "  %v{0} = add({1}, %u{0}) : {4}\n",
            count, last, before(), dtype, type);
      case 3:
        return applied("neg", "");
      case 4:
        return applied("abs", "");
      default:
        return applied(kBinary[pick(5)], ", " + before());
    }
  }

  std::mt19937 engine_;
};

class Setting {
 public:
  explicit Setting(cpu::Isa isa) : before_(cpu::isa()) { cpu::set_isa(isa); }
  ~Setting() { cpu::set_isa(before_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  cpu::Isa before_;
};

}  // namespace

TEST_CASE("loops of long chains are unrolled", "[jit][fused][unroll]") {
  if (!cpu::has_isa(cpu::Isa::V4)) return;
  const auto of = [](const std::string& type, int steps, const std::string& step = "mul") {
    return unroll_in(parse_graph(returned(type, chain_of(type, steps, step), steps)));
  };
  CHECK(of("f32[1000]", 20) == kMaxUnroll);
  CHECK(of("i32[1000]", 20) == kMaxUnroll);
  CHECK(of("f32[1000]", 2) == 1);            // the queue is long enough
  CHECK(of("f64[1000]", 20) == 1);           // two registers for each vector
  CHECK(of("f32[1000]", 20, "atan2") == 1);  // functions
  const Setting setting(cpu::Isa::V3);
  CHECK(of("f32[1000]", 20) == 1);
}

TEST_CASE("values of all unrolled vectors fit the registers", "[jit][fused][unroll]") {
  if (!cpu::has_isa(cpu::Isa::V4)) return;
  std::vector<int> found;
  for (const int kept : {4, 11, 20}) {  // that are read after the chain again
    std::string text = chain_of("f32[1000]", 60), last = "%b59";
    for (int k = 0; k < kept; ++k) {
      text += fmt::format("  %s{} = sub({}, %b{}) : f32[1000]\n", k, last, k);
      last = fmt::format("%s{}", k);
    }
    found.push_back(unroll_in(parse_graph("graph functional f(%x: f32[1000], %y: f32[1000]) {\n" + text +
                                          "  return " + last + "\n}\n")));
  }
  CHECK(found == std::vector<int>{3, 2, 1});
}

TEST_CASE("unrolled vectors give the bits of the ops for any number of elements", "[jit][fused][unroll]") {
  int several = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::string dtype = seed % 3 == 2 ? "i32" : "f32";
    const Graph graph = Chain(seed).run(dtype);
    const FusedGraph fused = fuse(graph);
    several += unroll_in(graph) > 1 ? 1 : 0;
    for (const auto& [m, n] : {std::pair<Dim, Dim>{1, 16},
                               {1, 17},
                               {2, 31},
                               {1, 32},
                               {3, 33},
                               {1, 47},
                               {2, 48},
                               {1, 49},
                               {4, 64},
                               {7, 5},
                               {1, 79},
                               {2, 80},
                               {3, 1000},
                               {100, 700}}) {
      const DType type = dtype == "f32" ? DType::F32 : DType::I32;
      const Tensor whole = values({m, n}, type, static_cast<int>(seed));
      const Tensor x = seed % 2 == 0 ? whole : strided(whole);
      INFO("seed " << seed << ", [" << m << ", " << n << "]");
      for (const int threads : {1, 3}) {
        const Threads number(threads);
        check_same(graph, fused,
                   {x, values({n}, type, 1), values({m, 1}, type, 2), values({m, n}, DType::Bool, 3)});
      }
    }
  }
  if (cpu::isa() == cpu::Isa::V4) CHECK(several > 20);
}

TEST_CASE("unrolled vectors are written where their operand lies", "[jit][fused][unroll]") {
  for (const Dim n : {16, 17, 32, 40, 48, 50, 63, 64, 96, 100, 1000, 70000}) {
    const std::string type = fmt::format("f32[{}]", n);
    std::string text = returned(type, chain_of(type, 20), 20);
    text.insert(text.rfind('}'), "  write %x <- %b19\n");
    const Graph graph = parse_graph(text);
    const auto executable = Executable::make(run_recipe(recipes::kFused, graph));
    const Tensor x = values({n}, DType::F32, 5), y = values({n}, DType::F32, 6);
    const Tensor expected_x = ops::clone(x);
    for (int call = 0; call < 6; ++call) {  // later ones are bound
      CAPTURE(n, call);
      const Tensors wanted = evaluate(graph, Tensors{expected_x, y});
      const Tensors found = executable->run(Tensors{x, y});
      CHECK(same_bits(found[0], wanted[0]));
      CHECK(same_bits(x, expected_x));
      CHECK(found[0].is_same(x));
    }
  }
}

}  // namespace kiln::unroll_test
