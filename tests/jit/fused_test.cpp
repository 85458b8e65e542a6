// Compiled kernels: the same bits as the graph op by op, for every row, dtype, layout, size, instruction set
// and number of threads.
#include "jit/pipeline/fused.h"

#include <catch2/catch.hpp>
#include <set>

#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "jit/loops/lower.h"
#include "jit/passes/target.h"
#include "jit/pipeline/compile_nests.h"
#include "jit/shape_rules.h"
#include "tensor/cpu/isa.h"
#include "tensor/math.h"
#include "tensor/ops/pointwise.h"
#include "tests/effort.h"
#include "tests/jit/fused_programs.h"
#include "tests/jit/fused_support.h"
#include "tests/jit/graphs.h"
#include "tests/tensor/threads.h"

namespace kiln::fused_test {

using namespace kiln::jit;
using namespace kiln::testing;

namespace {

// All rows with so many operands, each followed by a copy so that the two are a kernel.
Graph graph_of_rows(DType dtype, int operands, bool failing) {
  Builder builder;
  builder.graph.stage = Stage::Functional;
  builder.graph.name = "rows";
  builder.graph.hints = {{"n", 33}};
  std::vector<ValueId> inputs, masks;
  for (int i = 0; i < operands; ++i)
    inputs.push_back(builder.input("", {dtype, {}, {Dim::symbol("n")}, false, {}}));
  for (int i = 0; i < operands; ++i)
    masks.push_back(builder.input("", {DType::Bool, {}, {Dim::symbol("n")}, false, {}}));
  for (const Op* op : OpTable::get().ops()) {
    if (op->pointwise == nullptr || op->pointwise->operands != operands) continue;
    if (!op->pointwise->failure.empty() != failing) continue;
    Node node;
    node.op = op;
    node.attrs = some_attrs(*op, 2);
    for (int i = 0; i < operands; ++i) {
      const bool mask = op->pointwise->mask == i;
      node.operands.push_back(Operand::of((mask ? masks : inputs)[static_cast<std::size_t>(i)]));
    }
    try {
      const ValueId made = builder.append(node)[0];
      builder.graph.outputs.push_back(Operand::of(made));
      Node copy;
      copy.op = &OpTable::get().at("clone");
      copy.operands = {Operand::of(made)};
      builder.graph.outputs.push_back(Operand::of(builder.append(copy)[0]));
    } catch (const OpError&) {  // not for this dtype
    }
  }
  return builder.graph;
}

class Setting {
 public:
  explicit Setting(cpu::Isa isa) : isa_(cpu::isa()) { cpu::set_isa(isa); }
  ~Setting() { cpu::set_isa(isa_); }

 private:
  cpu::Isa isa_;
};

}  // namespace

TEST_CASE("every elementwise row compiled gives the bits of its eager kernel", "[jit][fused]") {
  for (const cpu::Isa isa : {cpu::Isa::V3, cpu::Isa::V4}) {
    if (!cpu::has_isa(isa)) continue;
    const Setting setting(isa);
    for (const DType dtype : kDTypes) {
      for (const int operands : {1, 2, 3}) {
        const Graph graph = graph_of_rows(dtype, operands, false);
        const FusedGraph fused = fuse(graph);
        CHECK(fused.graph.own_ops.size() == graph.outputs.size() / 2);
        for (const Dim n : {0, 1, 15, 16, 17, 33, 4000}) {
          std::vector<Tensor> arguments;
          for (int i = 0; i < operands; ++i) arguments.push_back(values({n}, dtype, 3 * i + 1));
          for (int i = 0; i < operands; ++i) arguments.push_back(values({n}, DType::Bool, 5 * i));
          INFO(name(dtype) << " " << n << " " << cpu::name(isa));
          check_same(graph, fused, arguments);
        }
      }
    }
  }
}

TEST_CASE("random elementwise programs compiled give the bits of their ops", "[jit][fused]") {
  int kernels = 0, placed = 0;
  for (unsigned seed = 0; seed < 150; seed += kEvery) {
    const Graph graph = elementwise_program(seed);
    verify(graph, "the test");
    const FusedGraph fused = fuse(graph);
    verify(fused.graph, "fuse");
    kernels += static_cast<int>(fused.graph.own_ops.size());
    for (const std::string& each : fused.loops())
      placed += each.find("the rest of") != std::string::npos ? 1 : 0;
    INFO("seed " << seed);
    // One compilation serves all sizes.
    for (const auto& [m, n] : {std::pair<Dim, Dim>{3, 5}, {2, 100}, {70, 3}, {0, 4}, {1, 1}, {40, 200}}) {
      if (!check_shapes(graph, {{"m", m}, {"n", n}}).empty()) continue;
      check_same(graph, fused, arguments_for(graph, fused, {{"m", m}, {"n", n}}, seed));
    }
  }
  CHECK(kernels > 150 / kEvery);
  CHECK(placed > 15 / kEvery);
}

TEST_CASE("compiled kernels give the same bits on any number of threads and for any instruction set",
          "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, 3], %y: f32[3]) where n = 8 {\n"
      "  %a = tanh(%x) : f32[n, 3]\n"
      "  %b = mul(%a, %y) : f32[n, 3]\n"
      "  return %b\n"
      "}\n");
  const std::vector<Tensor> arguments = {values({60007, 3}, DType::F32, 1), values({3}, DType::F32, 2)};
  for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::V3, cpu::Isa::V4}) {
    if (!cpu::has_isa(isa)) continue;
    const Setting setting(isa);
    const FusedGraph fused = fuse(graph);
    for (const int threads : {1, 2, 5}) {
      const Threads number(threads);
      check_same(graph, fused, arguments);
    }
  }
}

// Whatever converts them: the processor in a kernel, code of ours where it cannot.
TEST_CASE("every f16 is read and rounded as by the ops", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%h: f16[n], %x: f32[n]) where n = 8 {\n"
      "  %a = cast(%h, dtype=f32) : f32[n]\n"
      "  %b = neg(%a) : f32[n]\n"
      "  %c = cast(%x, dtype=f16) : f16[n]\n"
      "  %d = add(%c, %h) : f16[n]\n"
      "  return %a, %b, %c, %d\n"
      "}\n");
  constexpr std::int64_t kAll = 65536;
  Tensor halves = Tensor::empty(Dims{kAll}, DType::F16), floats = Tensor::empty(Dims{kAll}, DType::F32);
  for (std::int64_t i = 0; i < kAll; ++i) {
    const auto bits = static_cast<std::uint32_t>(i);
    halves.writable<Half>()[i] = {static_cast<std::uint16_t>(bits)};
    // Beside each half and halfway to the next one; all exponents; what is no number, of either kind.
    const float half = math::half_to_float(bits);
    const std::uint32_t near = math::to_bits(half) + (bits % 3 == 0 ? 0x1000U : bits % 3 == 1 ? 0xfffU : 1U);
    floats.writable<float>()[i] = math::from_bits(i % 2 == 0 ? near : bits << 16 | bits % 7);
  }
  for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::V3, cpu::Isa::V4}) {
    if (!cpu::has_isa(isa)) continue;
    const Setting setting(isa);
    INFO(cpu::name(isa));
    check_same(graph, fuse(graph), {halves, floats});
  }
}

TEST_CASE("an element that an op is not defined for is the eager error", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: i64[n], %y: i64[n]) where n = 8 {\n"
      "  %a = remainder(%x, %y) : i64[n]\n"
      "  %b = bitwise_left_shift(%a, %y) : i64[n]\n"
      "  %c = floor_div(%b, %y) : i64[n]\n"
      "  return %c\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  REQUIRE(fused.graph.own_ops.size() == 1);
  for (const double at_zero : {0.0, 1.0, 70.0}) {
    const Tensor x = make({21}, DType::I64, [](std::int64_t i) { return static_cast<double>(i - 9); });
    const Tensor y = make({21}, DType::I64, [=](std::int64_t i) { return i == 20 ? at_zero : 3.0; });
    check_same(graph, fused, {x, y});
  }
}

TEST_CASE("every value that goes through memory between two nodes has a reason", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[4, 4], %w: f32[4]) {\n"
      "  %a = exp(%w) : f32[4]\n"
      "  %b = mul(%x, %a) : f32[4, 4]\n"
      "  %c = relu(%b) : f32[4, 4]\n"
      "  %d = matmul(%c, %x) : f32[4, 4]\n"
      "  %e = add(%d, %b) : f32[4, 4]\n"
      "  %f = neg(%e) : f32[4, 4]\n"
      "  return %f\n"
      "}\n");
  CHECK(fuse(graph).fusion() ==
        "kernel 0 over [4, 4]\n"
        "  %b = mul(%x, %a) : f32[4, 4]\n"
        "  %c = relu(%b) : f32[4, 4]\n"
        "kernel 1 over [4, 4]\n"
        "  %e = add(%d, %b) : f32[4, 4]\n"
        "  %f = neg(%e) : f32[4, 4]\n"
        "%a to %b: [4] is read over [4, 4]: it would be computed again for each of those\n"
        "%c to %d: matmul is a call of a library\n"
        "%d to %e: matmul is a call of a library\n"
        "%b to %e: something that cannot be fused lies between\n");
}

TEST_CASE("random numbers are made where they are read, those of the ops one by one", "[jit][fused]") {
  for (const auto& [name, dtype] :
       {std::pair{"f32", DType::F32}, {"f64", DType::F64}, {"f16", DType::F16}, {"bf16", DType::BF16}}) {
    const Graph graph = graph_of(
        "graph functional f(%x: T[n, m], %y: T[m]) where m = 30, n = 20 {\n"
        "  %e = exp(%x) : T[n, m]\n"
        "  %k = bernoulli.p(%e, p=0.3) : T[n, m]\n"
        "  %p = randperm(n=7) : i64[7]\n"
        "  %d = mul(%e, %k) : T[n, m]\n"
        "  %u = uniform(%x, low=-2.0, high=3.0) : T[n, m]\n"
        "  %v = normal_functional(%x, mean=1.0, std=0.5) : T[n, m]\n"
        "  %w = mul(%u, %v) : T[n, m]\n"
        "  %r = rand_like(%x) : T[n, m]\n"
        "  %s = add(%d, %r) : T[n, m]\n"
        "  %t = randn_like(%x) : T[n, m]\n"
        "  %z = mul(%s, %t) : T[n, m]\n"
        "  %h = mul(%z, %y) : T[n, m]\n"
        "  return %h, %k, %p, %w\n"
        "}\n",
        name);
    const FusedGraph fused = fuse(graph);
    std::string loops;
    for (const std::string& each : fused.loops()) loops += each;
    for (const char* each : {"uniform", "normal_functional", "rand_like", "randn_like"})
      CHECK(loops.find(std::string("draw ") + each) != std::string::npos);
    for (const auto& [n, m] : {std::pair<Dim, Dim>{0, 3}, {1, 1}, {3, 5}, {20, 70}, {500, 301}}) {
      for (const int threads : {1, 3}) {
        const Threads setting(threads);
        const std::vector<Tensor> arguments = {values({n, m}, dtype, 1), values({m}, dtype, 2)};
        INFO(name << " " << n << " " << m);
        check_same_draws(graph, fused, arguments);
      }
    }
  }
}

TEST_CASE("a dropout is part of the kernel around it", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n]) where n = 64 {\n"
      "  %e = exp(%x) : f32[n]\n"
      "  %k = bernoulli.p(%e, p=0.9) : f32[n]\n"
      "  %s = mul(%k, 1.25) : f32[n]\n"
      "  %y = mul(%e, %s) : f32[n]\n"
      "  return %y\n"
      "}\n");
  CHECK(fuse(graph).loops()[0] ==
        "kernel kernel_0 {\n"
        "  r3 = constant 1.25 : f64\n"
        "  for [n] in threads, vectors of 16 {\n"
        "    r0 = load in0 : f32\n"
        "    r1 = exp r0 : f32\n"
        "    r2 = draw bernoulli.p(p=0.9) : f32\n"
        "    r4 = mul r2, r3 : f32\n"
        "    r5 = mul r1, r4 : f32\n"
        "    store out0 = r5 : f32\n"
        "  }\n"
        "}\n");
}

TEST_CASE("a tensor of one number is a number within a kernel", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, 100], %h: f16[n]) where n = 8 {\n"
      "  %0 = zeros(size=[n, 100]) : f32[n, 100]\n"
      "  %1 = maximum(%x, %0) : f32[n, 100]\n"
      "  %2 = full(0.1, size=[100]) : f32[100]\n"
      "  %3 = mul(%1, %2) : f32[n, 100]\n"
      "  %4 = sum(%3, dim=[1]) : f32[n]\n"
      "  %5 = ones(size=[1], dtype=f16) : f16[1]\n"
      "  %6 = expand(%5, sizes=[n]) : f16[n]\n"
      "  %7 = div(%6, %h) : f16[n]\n"
      "  %8 = add(%7, %6) : f16[n]\n"
      "  return %4, %8\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  CHECK(fused.graph.nodes.size() == 2);
  CHECK(fused.graph.own_ops.size() == 2);
  check_same(graph, fused, {values({5, 100}, DType::F32, 1), values({5}, DType::F16, 2)});
}

TEST_CASE("nests that differ in sizes and tensors alone are compiled once", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n], %y: f32[4, n], %z: f16[n]) where n = 8 {\n"
      "  %0 = exp(%x) : f32[n]\n"
      "  %1 = neg(%0) : f32[n]\n"
      "  %2 = exp(%y) : f32[4, n]\n"
      "  %3 = neg(%2) : f32[4, n]\n"
      "  %4 = exp(%z) : f16[n]\n"
      "  %5 = neg(%4) : f16[n]\n"
      "  %6 = exp(%x) : f32[n]\n"
      "  %7 = abs(%6) : f32[n]\n"
      "  return %1, %3, %5, %7\n"
      "}\n");
  std::vector<ScheduledKernel> kernels;
  for (const Group& each : find_groups(graph).groups)
    kernels.push_back(each.target->schedule(lower(graph, each, "kernel"), {{false}, graph.hints}));
  REQUIRE(kernels.size() == 4);
  std::vector<ScheduledNest> nests;
  for (const ScheduledKernel& each : kernels)
    nests.push_back({&each.lowered.passes[0], &each.schedule.nests[0]});
  const std::vector<void*> functions = compile_nests(*target_of(Device{}), nests).functions;
  CHECK(functions[0] == functions[1]);
  CHECK(std::set(functions.begin(), functions.end()).size() == 3);
}

TEST_CASE("loop nests print what a kernel does", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f16[s, 4], %w: f32[4, s]) where s = 3 {\n"
      "  %t = transpose(%w, dim0=0, dim1=1) : f32[s, 4]\n"
      "  %a = add(%x, %t) : f32[s, 4]\n"
      "  %b = mul(%a, s) : f32[s, 4]\n"
      "  %c = cast(%b, dtype=i8) : i8[s, 4]\n"
      "  return %b, %c\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  REQUIRE(fused.loops().size() == 1);
  CHECK(fused.loops()[0] ==
        "kernel kernel_0 {\n"
        "  r3 = size s : i64\n"
        "  for [s, 4] in threads, vectors of 16 {\n"
        "    r0 = load in0 : f16\n"
        "    r1 = load in1.transpose(dim0=0, dim1=1) : f32\n"
        "    r2 = add r0, r1 : f32\n"
        "    r4 = mul r2, r3 : f32\n"
        "    r5 = convert r4 : i8\n"
        "    store out0 = r4 : f32\n"
        "    store out1 = r5 : i8\n"
        "  }\n"
        "}\n");
  CHECK(print_graph(fused.graph) ==
        "graph fused f(%x: f16[s, 4], %w: f32[4, s]) where s = 3 {\n"
        "  %b, %c = kernel_0([%x, %w], symbols=[s]) : f32[s, 4], i8[s, 4]\n"
        "  return %b, %c\n"
        "}\n");
}

}  // namespace kiln::fused_test
