// What machine code of flows costs beside the same loop of a C++ compiler: run by hand, `test_jit
// "[.bench]"`. It asserts nothing of times.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "tensor/functions.h"
#include "tests/jit/flow_graphs.h"

namespace kiln::flow_code_bench_test {

using namespace kiln::jit;
using namespace kiln::jit::testing;

namespace {

// Milliseconds of the processor for one call, the best of several.
template <class F>
double milliseconds(F&& f) {
  double best = 1e300;
  for (int round = 0; round < 5; ++round) {
    const std::clock_t start = std::clock();
    f();
    const double took = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    best = std::min(best, took);
  }
  return best;
}

std::unique_ptr<RunnableFlow> compiled(const FlowBuilder& builder) {
  REQUIRE(find_fault(builder.flow) == "");
  CompiledFlow made;
  const double took = milliseconds([&] { made = compile_flow(builder.made()); });
  REQUIRE(made.reason == "");
  std::printf("%s: compiled in %.1f ms, %zu bytes\n", builder.flow.name.c_str(), took, made.code_bytes);
  return std::move(made.run);
}

// Steps that numbers below `n` take to 1.
FlowBuilder collatz() {
  using enum NumberOp;
  FlowBuilder b("collatz");
  const ValueId n = b.input_int(5);
  b.begin_block();
  b.jump(1, {of_int(1), of_int(0)});
  b.begin_block();
  const ValueId start = b.parameter_int(1), total = b.parameter_int(0);
  const std::vector<Operand> state = {of(total)};
  const ExitId stops = b.exit("stopped", state);
  b.begins_loop(stops);
  b.branch(of(b.number(Less, {of(start), of(n)})), {2, {of(start), of(total)}}, {7, {}});
  b.begin_block();
  const ValueId x = b.parameter_int(1), steps = b.parameter_int(0);
  b.begins_loop(stops);
  b.branch(of(b.number(NotEqual, {of(x), of_int(1)})), {3, {}}, {6, {}});
  b.begin_block();
  const ValueId more = b.number(Add, {of(steps), of_int(1)}, stops);
  const ValueId rest = b.number(Mod, {of(x), of_int(2)}, stops);
  b.branch(of(b.number(Equal, {of(rest), of_int(0)})), {4, {}}, {5, {}});
  b.begin_block();
  b.jump(2, {of(b.number(FloorDiv, {of(x), of_int(2)}, stops)), of(more)});
  b.begin_block();
  const ValueId triple = b.number(Mul, {of_int(3), of(x)}, stops);
  b.jump(2, {of(b.number(Add, {of(triple), of_int(1)}, stops)), of(more)});
  b.begin_block();
  b.jump(1, {of(b.number(Add, {of(start), of_int(1)}, stops)), of(steps)});
  b.begin_block();
  b.leave(b.exit("done", state));
  return b;
}
std::int64_t collatz_in_c(std::int64_t n) {
  std::int64_t total = 0;
  for (std::int64_t start = 1; start < n; ++start)
    for (std::int64_t x = start; x != 1; x = x % 2 == 0 ? x / 2 : 3 * x + 1) ++total;
  return total;
}

}  // namespace

TEST_CASE("times of machine code of flows", "[.bench]") {
  const auto code = compiled(collatz());
  constexpr std::int64_t kCount = 100000;
  const std::vector<FlowValue> inputs = {int_value(kCount)};
  std::int64_t mine = 0, theirs = 0;
  const double flow =
      milliseconds([&] { mine = std::get<std::int64_t>(code->run(inputs).values[0].number); });
  const double c = milliseconds([&] { theirs = collatz_in_c(kCount); });
  CHECK(mine == theirs);
  std::printf("collatz: %.2f ms, %.2f in C++\n", flow, c);

  const auto sum = compiled(running_sum());
  const Tensor x = kiln::testing::noise({100000}, DType::F32, 1),
               y = kiln::testing::noise({100000}, DType::F32, 2);
  const std::vector<FlowValue> tensors = {tensor_value(x), tensor_value(y), int_value(1)};
  std::printf("running sum: %.3f ms for 100000 elements\n", milliseconds([&] { sum->run(tensors); }));
  const std::vector<FlowValue> few = {tensor_value(x), tensor_value(y), int_value(99990)};
  std::printf("a run of few iterations: %.0f ns\n", 1e6 * milliseconds([&] { sum->run(few); }));
}

}  // namespace kiln::flow_code_bench_test
