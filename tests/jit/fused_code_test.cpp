// The code of kernels: compiled in parts and interrupted, called by many threads, shown and measured.
#include "jit/pipeline/fused.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/pipeline/fused_text.h"
#include "jit/runtime/executable.h"
#include "jit/runtime/measure.h"
#include "tensor/functions.h"
#include "tensor/parallel.h"
#include "tests/jit/fused_support.h"
#include "tests/jit/graphs.h"

namespace kiln::fused_code_test {

using namespace kiln::jit;
using kiln::testing::check_same;
using kiln::testing::same_bits;
using kiln::testing::values;

namespace {

// As a call of `fn f(x, w) { y = x * w; return y.exp() + 1 }` has it.
Graph of_a_program() {
  return parse_graph(
      "graph functional f(%x: f32[8], %w: f32[8]) {\n"
      "  %y = mul(%x, %w) : f32[8]  # demo.kiln:2:9\n"
      "  %0 = exp(%y) : f32[8]  # demo.kiln:3:11\n"
      "  %1 = add(%0, 1) : f32[8]  # demo.kiln:3:17\n"
      "  return %1\n"
      "}\n");
}
std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}
}  // namespace

TEST_CASE("compiling stops when it is interrupted, and goes on the next time", "[jit][fused]") {
  const Graph graph = of_a_program();
  interrupt_requested = true;
  try {
    fuse(graph);
    FAIL_CHECK("it was not stopped");
  } catch (const OpError& error) {
    CHECK(error.kind() == ErrorKind::Interrupted);
  }
  interrupt_requested = false;
  CHECK(code_bytes(fuse(graph).graph) > 0);
}

TEST_CASE("graphs of many kernels are compiled in parts, on any number of threads", "[jit][fused]") {
  std::string text = "graph functional f(%x: f32[40, 70]) {\n";
  std::string last = "%x";
  for (int i = 0; i < 11; ++i) {  // a matrix product between each two keeps them apart
    const std::string n = std::to_string(i);
    text += "  %t" + n + " = transpose(" + last + ", dim0=0, dim1=1) : f32[70, 40]\n";
    text += "  %m" + n + " = matmul(" + last + ", %t" + n + ") : f32[40, 40]\n";
    text += "  %a" + n + " = tanh(%m" + n + ") : f32[40, 40]\n";
    text += "  %b" + n + " = add(%a" + n + ", " + n + ") : f32[40, 40]\n";
    text += "  %c" + n + " = matmul(%b" + n + ", " + last + ") : f32[40, 70]\n";
    text += "  %d" + n + " = mul(%c" + n + ", 0.01) : f32[40, 70]\n";
    text += "  %e" + n + " = sub(%d" + n + ", " + n + ") : f32[40, 70]\n";
    last = "%e" + n;
  }
  const Graph graph = parse_graph(text + "  return " + last + "\n}\n");
  const std::vector<Tensor> arguments = {values({40, 70}, DType::F32, 3)};
  const int before = num_threads();
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    check_same(graph, fuse(graph), arguments);
  }
  set_num_threads(before);
}

TEST_CASE("many threads may call one compiled graph", "[jit][fused]") {
  const auto executable = Executable::make(fuse(of_a_program()).graph);
  // Layouts differ from call to call, so that threads replace what the kernel remembers of the last one.
  std::vector<std::vector<Tensor>> arguments;
  std::vector<Tensor> expected;
  for (int k = 0; k < 4; ++k) {
    const Tensor wide = values({8, 2}, DType::F32, k);
    const Tensor x = k % 2 == 0 ? values({8}, DType::F32, k) : ops::select(wide, 1, 0);
    arguments.push_back({x, values({8}, DType::F32, k + 10)});
    expected.push_back(evaluate(of_a_program(), arguments.back())[0]);
  }
  std::atomic<int> different{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t round = 0; round < 500; ++round) {
        const std::size_t k = (round + t) % 4;
        if (!same_bits(executable->run(arguments[k])[0], expected[k])) ++different;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  CHECK(different == 0);
}

TEST_CASE("loops carry the names and places of the program", "[jit][fused]") {
  CHECK(text_of(loops_lines(fuse(of_a_program()).graph)) ==
        "kernel kernel_0 {\n"
        "  r4 = constant 1 : i64\n"
        "  for [8] in threads, vectors of 16 {\n"
        "    r0 = load in0 : f32                           # %x\n"
        "    r1 = load in1 : f32                           # %w\n"
        "    r2 = mul r0, r1 : f32                         # %y, demo.kiln:2:9\n"
        "    r3 = exp r2 : f32                             # %0, demo.kiln:3:11\n"
        "    r5 = add r3, r4 : f32                         # %1, demo.kiln:3:17\n"
        "    store out0 = r5 : f32                         # %1\n"
        "  }\n"
        "}\n"
        "at most 32 B of tensors at once beside the arguments\n");
}

TEST_CASE("code says which line of the program it belongs to", "[jit][fused]") {
  const Graph fused = fuse(of_a_program()).graph;
  const std::string llvm = text_of(code_lines(fused, Product::Source));
  CHECK(count_of(llvm, "; kernel_0\ndefine i64 @kernel0(") == 1);
  CHECK(count_of(llvm, "  ; %y = mul(%x, %w) : f32[8]  # demo.kiln:2:9\n  %y = fmul <16 x float> %x, %w\n") ==
        1);
  CHECK(count_of(llvm, "splat (float ") > 0);
  const std::string assembly = text_of(code_lines(fused, Product::Assembly));
  CHECK(count_of(assembly, "# kernel_0\nkernel0:") == 1);
  CHECK(count_of(assembly, "  # %y = mul(%x, %w) : f32[8]  # demo.kiln:2:9\n") > 0);
  CHECK(count_of(assembly, "\tretq\n") == 1);
  for (const std::string& text : {llvm, assembly}) {
    INFO(text);
    CHECK(count_of(text, "\n@") == 0);  // every mark became what it stands for
    CHECK(count_of(text, "!dbg") == 0);
    CHECK(count_of(text, "\t.loc") == 0);
  }
  const Graph alone =
      parse_graph("graph functional f(%x: f32[8]) {\n  %y = exp(%x) : f32[8]\n  return %y\n}\n");
  CHECK(text_of(code_lines(fuse(alone).graph, Product::Source)) ==
        "nothing is fused: every op is a call of its own\n");
}

// Arithmetic with a mask is one instruction where the choice takes it when the comparison holds.
TEST_CASE("comparisons hold where the arithmetic counts", "[jit][fused]") {
  for (const auto& [choice, holds] : {std::pair("where(%0, %1, %x)", true), {"where(%0, %x, %1)", false}}) {
    const Graph graph = parse_graph(std::string("graph functional f(%x: f32[70], %y: f32[70]) {\n"
                                                "  %0 = le(%y, 4.0) : bool[70]\n"
                                                "  %1 = mul(%x, %y) : f32[70]\n"
                                                "  %2 = ") +
                                    choice + " : f32[70]\n  return %2\n}\n");
    const FusedGraph fused = fuse(graph);
    const std::string code = text_of(code_lines(fused.graph, Product::Source));
    INFO(code);
    CHECK((count_of(code, "fcmp ole") > 0) == holds);
    CHECK((count_of(code, "fcmp ugt") > 0) == !holds);
    check_same(graph, fused, {values({70}, DType::F32, 1), values({70}, DType::F32, 2)});
  }
}

TEST_CASE("kernels are measured with what they read and write", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[64, 128], %w: f32[128, 32], %b: f32[32]) {\n"
      "  %n = slice(%x, dim=0, start=0, end=16, step=1) : f32[16, 128]\n"
      "  %e = exp(%n) : f32[16, 128]\n"
      "  %d = neg(%e) : f32[16, 128]\n"
      "  %m = matmul(%d, %w) : f32[16, 32]\n"
      "  %s = add(%m, %b) : f32[16, 32]\n"
      "  %r = relu(%s) : f32[16, 32]\n"
      "  return %r\n"
      "}\n");
  const Graph fused = fuse(graph).graph;
  const std::vector<Tensor> arguments = {ops::ones(Dims{64, 128}), ops::ones(Dims{128, 32}),
                                         ops::ones(Dims{32})};
  const std::vector<NodeCost> costs = measure(fused, arguments);
  REQUIRE(costs.size() == 3);
  CHECK(costs[0].ops.size() == 2);
  CHECK(costs[0].bytes == 4 * (16 * 128 + 16 * 128));
  CHECK(costs[0].flops == 2 * 16 * 128);
  CHECK_FALSE(costs[1].is_kernel);
  CHECK(costs[1].flops == 2 * 16 * 128 * 32);
  CHECK(costs[1].bytes == 4 * (16 * 128 + 128 * 32 + 16 * 32));
  CHECK(costs[2].bytes == 4 * (16 * 32 + 32 + 16 * 32));
  for (const NodeCost& each : costs) {
    CHECK(each.seconds > 0);
    REQUIRE(each.share);
    CHECK(*each.share > 0);
  }
}

}  // namespace kiln::fused_code_test
