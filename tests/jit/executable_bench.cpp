// What an executable costs over its ops: run by hand, `test_jit "[.bench]"`. It asserts nothing of times.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>

#include "jit/graph/rewrite.h"
#include "jit/runtime/executable.h"
#include "tensor/functions.h"
#include "tests/tensor/tensors.h"

namespace kiln::executable_bench_test {

using namespace kiln::jit;

namespace {

// Nanoseconds of one call, the best of several rounds.
template <class F>
double nanoseconds(F&& f) {
  constexpr int kCalls = 2000, kRounds = 20;
  double best = 1e300;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) f();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / kCalls);
  }
  return best;
}

constexpr int kNodes = 50;

// y = x + y, again and again, with sizes that are a symbol when there is one.
std::shared_ptr<const Executable> chain(int nodes, Dim size, const SymbolValues& hints) {
  Builder builder;
  builder.graph.stage = Stage::Functional;
  builder.graph.hints = hints;
  std::vector<ValueId> inputs;
  for (int i = 0; i < 5; ++i) {
    inputs.push_back(builder.input("x", Type{DType::F32, Device{}, {size}, false, std::nullopt}));
  }
  ValueId value = inputs[0];
  for (int i = 0; i < nodes; ++i) {
    const Operand other = Operand::of(inputs[static_cast<std::size_t>(i % 5)]);
    value = builder.apply(OpTable::get().at("add"), {Operand::of(value), other}, {}, Node{})[0];
  }
  builder.graph.outputs = {Operand::of(value)};
  return Executable::make(builder.graph);
}

}  // namespace

TEST_CASE("the cost of an executable", "[.bench]") {
  std::vector<Tensor> arguments;
  for (int i = 0; i < 5; ++i) arguments.push_back(kiln::testing::noise({8}, DType::F32, i));
  const auto run_ops = [&] {
    Tensor value = arguments[0];
    for (int i = 0; i < kNodes; ++i) value = ops::add(value, arguments[static_cast<std::size_t>(i % 5)]);
    return value;
  };
  const double ops = nanoseconds(run_ops);
  const SymbolValues symbols{{"s0", 8}};
  const auto report = [&](const char* name, Dim size, const SymbolValues& values) {
    const auto empty = chain(0, size, values), full = chain(kNodes, size, values);
    CHECK(kiln::testing::same_bits(full->run(arguments, values)[0], run_ops()));
    const double call = nanoseconds([&] { empty->run(arguments, values); });
    const double all = nanoseconds([&] { full->run(arguments, values); });
    WARN(name << ": " << call << " ns a call without nodes; " << all / kNodes
              << " ns a node, of which the op " << ops / kNodes);
  };
  report("static", 8, {});
  report("symbolic", Dim::symbol("s0"), symbols);
}

}  // namespace kiln::executable_bench_test
