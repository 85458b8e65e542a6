// Compiled graphs in many threads at once: run with sizes of their own, compiled side by side,
// differentiated. Under the thread sanitizer (scripts/build threads) it finds what they share without a lock.
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <thread>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/pipeline/aot_function.h"
#include "jit/pipeline/fused.h"
#include "jit/runtime/executable.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tests/jit/fused_support.h"
#include "tests/tensor/tensors.h"

namespace kiln::threads_test {

using namespace kiln::jit;
using kiln::testing::same_bits;
using kiln::testing::values;

namespace {

constexpr int kThreads = 4;

// Runs `work(thread)` in each; how many gave false.
int failures_in_threads(const std::function<bool(int)>& work) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&, t] { failures += work(t) ? 0 : 1; });
  for (std::thread& each : threads) each.join();
  return failures;
}

Graph with_symbol() {
  return parse_graph(
      "graph functional f(%x: f32[s0], %w: f32[s0]) where s0 = 8 {\n"
      "  %y = mul(%x, %w) : f32[s0]\n"
      "  %z = exp(%y) : f32[s0]\n"
      "  %sum = sum(%z, dim=[0], keepdim=false) : f32[]\n"
      "  return %z, %sum\n"
      "}\n");
}

// Rows, columns, a product of a library, and kernels that write over arguments.
Graph with_all_kinds() {
  return parse_graph(
      "graph functional f(%x: f32[s0, 80], %w: f32[80, 80], %p: f32[s0, 80]) where s0 = 9 {\n"
      "  %y = matmul(%x, %w) : f32[s0, 80]\n"
      "  %most = amax(%y, dim=[1], keepdim=true) : f32[s0, 1]\n"
      "  %d = sub(%y, %most) : f32[s0, 80]\n"
      "  %e = exp(%d) : f32[s0, 80]\n"
      "  %sum = sum(%e, dim=[1], keepdim=true) : f32[s0, 1]\n"
      "  %s = div(%e, %sum) : f32[s0, 80]\n"
      "  %columns = sum(%s, dim=[0], keepdim=false) : f32[80]\n"
      "  %t = mul(%s, 0.5) : f32[s0, 80]\n"
      "  %p_1 = sub(%p, %t) : f32[s0, 80]\n"
      "  return %s, %columns\n"
      "  write %p <- %p_1\n"
      "}\n");
}

// Another graph for each number.
Graph scaled(int k) {
  return parse_graph(
      "graph functional f(%x: f32[16], %w: f32[16]) {\n"
      "  %y = mul(%x, %w) : f32[16]\n"
      "  %z = add(%y, " +
      std::to_string(k) +
      ") : f32[16]\n"
      "  %t = tanh(%z) : f32[16]\n"
      "  return %t\n"
      "}\n");
}

}  // namespace

TEST_CASE("threads run one graph with sizes of their own", "[jit][threads]") {
  const Graph graph = with_symbol();
  const auto executable = Executable::make(fuse(graph).graph);
  CHECK(failures_in_threads([&](int t) {
          for (int round = 0; round < 100; ++round) {
            const std::int64_t n = 3 + (round + 7 * t) % 40;
            const std::vector<Tensor> arguments{values({n}, DType::F32, t), values({n}, DType::F32, round)};
            const Tensors found = executable->run(arguments, {{"s0", n}});
            const Tensors expected = evaluate(graph, arguments);
            if (!same_bits(found[0], expected[0]) || !same_bits(found[1], expected[1])) return false;
          }
          return true;
        }) == 0);
}

TEST_CASE("threads run rows, products and writes with sizes of their own", "[jit][threads]") {
  const Graph graph = with_all_kinds();
  const auto executable = Executable::make(fuse(graph).graph);
  CHECK(failures_in_threads([&](int t) {
          for (int round = 0; round < 20; ++round) {
            const std::int64_t n = 2 + (round * 37 + 11 * t) % 300;
            const Tensor x = values({n, 80}, DType::F32, t), w = values({80, 80}, DType::F32, round);
            const std::vector<Tensor> ours{x, w, values({n, 80}, DType::F32, 5)},
                theirs{x, w, ops::clone(ours[2])};
            const Tensors found = executable->run(ours, {{"s0", n}});
            const Tensors expected = evaluate(graph, theirs);
            if (!same_bits(found[0], expected[0]) || !same_bits(found[1], expected[1])) return false;
            if (!same_bits(ours[2], theirs[2])) return false;
          }
          return true;
        }) == 0);
}

TEST_CASE("threads compile graphs side by side", "[jit][threads]") {
  CHECK(failures_in_threads([&](int t) {
          for (int round = 0; round < 4; ++round) {
            const Graph graph = scaled((t + round) % 6);  // some of them alike
            const std::vector<Tensor> arguments{values({16}, DType::F32, t), values({16}, DType::F32, round)};
            const auto executable = Executable::make(fuse(graph).graph);
            if (!same_bits(executable->run(arguments)[0], evaluate(graph, arguments)[0])) return false;
          }
          return true;
        }) == 0);
}

TEST_CASE("threads differentiate through one compiled function", "[jit][threads]") {
  const Graph graph = scaled(1);
  const auto function = AotFunction::make(graph, {true, true}, {true, {}});
  const auto gradients = [](const std::function<Tensors(Inputs)>& run, int t) {
    std::vector<Tensor> leaves{values({16}, DType::F32, t), values({16}, DType::F32, t + 9)};
    for (const Tensor& each : leaves) set_requires_grad(each, true);
    return grads({ops::sum(run(leaves)[0])}, leaves);
  };
  CHECK(failures_in_threads([&](int t) {
          for (int round = 0; round < 50; ++round) {
            const auto found = gradients([&](Inputs x) { return function->run(x, {}); }, t);
            const auto expected = gradients([&](Inputs x) { return evaluate(graph, x); }, t);
            if (!same_bits(found[0], expected[0]) || !same_bits(found[1], expected[1])) return false;
          }
          return true;
        }) == 0);
}

}  // namespace kiln::threads_test
