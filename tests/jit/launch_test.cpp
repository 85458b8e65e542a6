// Kernels that run together as the last of a graph, and write over the arguments: the bits of the ops one by
// one, whatever else holds or reads that memory.
#include <catch2/catch.hpp>
#include <cmath>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/runtime/executable.h"
#include "tests/jit/fused_support.h"
#include "tests/tensor/tensors.h"
#include "tests/tensor/threads.h"

namespace kiln::launch_test {

using namespace kiln::jit;
using namespace kiln::testing;

namespace {

Tensors copies_of(Inputs arguments) {
  Tensors copies;
  for (const Tensor& each : arguments) copies.push_back(ops::clone(each));
  return copies;
}

// Both do the same to what they are given.
void check_effects(const Graph& graph, Inputs arguments) {
  const Tensors expected = copies_of(arguments);
  const Tensors wanted = evaluate(graph, expected);
  const Tensors results = Executable::make(fuse(graph).graph)->run(arguments, bind_symbols(graph, arguments));
  REQUIRE(results.size() == wanted.size());
  for (std::size_t k = 0; k < results.size(); ++k) CHECK(same_bits(results[k], wanted[k]));
  for (std::size_t k = 0; k < arguments.size(); ++k) CHECK(same_bits(arguments[k], expected[k]));
}

// A step of momentum for two parameters, and a small result beside.
Graph momentum() {
  return parse_graph(
      "graph functional f(%p: f32[s], %m: f32[s], %g: f32[s], %q: f32[s, 3], %h: f32[s, 3]) where s = 5 {\n"
      "  %m_1 = mul(%m, 0.9) : f32[s]\n"
      "  %m_2 = add(%m_1, %g) : f32[s]\n"
      "  %d = mul(%m_2, 0.1) : f32[s]\n"
      "  %p_1 = sub(%p, %d) : f32[s]\n"
      "  %e = exp(%h) : f32[s, 3]\n"
      "  %q_1 = mul(%q, %e) : f32[s, 3]\n"
      "  %a = neg(%g) : f32[s]\n"
      "  %b = tanh(%a) : f32[s]\n"
      "  return %b, %p_1\n"
      "  write %p <- %p_1\n"
      "  write %m <- %m_2\n"
      "  write %q <- %q_1\n"
      "}\n");
}
Tensors momentum_arguments(Dim n) {
  return {values({n}, DType::F32, 1), values({n}, DType::F32, 2), values({n}, DType::F32, 3),
          values({n, 3}, DType::F32, 4), values({n, 3}, DType::F32, 5)};
}

// The peak of a call, in tensors of its size, and that its results are those of the ops.
std::int64_t tensors_at_once(const std::string& body, Dim n) {
  const Graph graph = parse_graph("graph functional f(%x: f32[s]) where s = 1000 {\n" + body + "}\n");
  const Tensors arguments = {values({n}, DType::F32, 1)};
  check_effects(graph, arguments);
  const auto executable = Executable::make(fuse(graph).graph);
  const SymbolValues symbols = bind_symbols(graph, arguments);
  reset_peak(Device{});
  const std::size_t live = memory_use(Device{}).live_bytes;
  const Tensors results = executable->run(arguments, symbols);
  const auto bytes = static_cast<double>(memory_use(Device{}).peak_bytes - live);
  return std::llround(bytes / (4.0 * static_cast<double>(n)));
}

}  // namespace

TEST_CASE("kernels write over arguments with the bits of the ops", "[jit][launch]") {
  const Graph graph = momentum();
  for (const int count : {1, 3}) {
    const Threads threads(count);
    for (const Dim n : {2, 3, 15, 16, 17, 31, 33, 1000, 70'001}) {
      check_effects(graph, momentum_arguments(n));
    }
  }
}

TEST_CASE("what is written over is the argument's own memory, and counts as a write", "[jit][launch]") {
  const Graph graph = momentum();
  const Tensors arguments = momentum_arguments(40);
  const std::byte* const memory = arguments[0].storage()->data();
  const auto version = arguments[0].storage()->version();
  const std::size_t live = memory_use(Device{}).live_bytes;
  {
    const Tensors results = Executable::make(fuse(graph).graph)->run(arguments, {{"s", 40}});
    CHECK(results[1].is_same(arguments[0]));
  }
  CHECK(memory_use(Device{}).live_bytes == live);
  CHECK(arguments[0].storage()->data() == memory);
  CHECK(arguments[0].storage()->version() == version + 1);
}

TEST_CASE("an update of one op takes no memory of its own", "[jit][launch]") {
  // As a step of plain gradient descent: the gradient is a product, and stays.
  const Graph graph = parse_graph(
      "graph functional f(%p: f32[300, 200], %x: f32[300, 8], %y: f32[8, 200], %b: f32[300]) {\n"
      "  %g = matmul(%x, %y) : f32[300, 200]\n"
      "  %p_1 = add.alpha(%p, %g, alpha=-0.5) : f32[300, 200]\n"
      "  %b_1 = mul(%b, 0.5) : f32[300]\n"
      "  return %g\n"
      "  write %p <- %p_1\n"
      "  write %b <- %b_1\n"
      "}\n");
  const Tensors arguments = {values({300, 200}, DType::F32, 1), values({300, 8}, DType::F32, 2),
                             values({8, 200}, DType::F32, 3), values({300}, DType::F32, 4)};
  check_effects(graph, arguments);
  const auto executable = Executable::make(fuse(graph).graph);
  const std::byte* const memory = arguments[0].storage()->data();
  reset_peak(Device{});
  const std::size_t live = memory_use(Device{}).live_bytes;
  const Tensors results = executable->run(arguments);
  CHECK(arguments[0].storage()->data() == memory);
  CHECK(memory_use(Device{}).peak_bytes < live + 3 * 300 * 200 * sizeof(float) / 2);
  // What is read as it was once more is no such update.
  check_effects(parse_graph("graph functional f(%p: f32[40], %g: f32[40]) {\n"
                            "  %p_1 = add(%p, %g) : f32[40]\n"
                            "  %q = sum(%p, dim=[0], keepdim=false) : f32[]\n"
                            "  return %q, %p\n"
                            "  write %p <- %p_1\n"
                            "}\n"),
                Tensors{values({40}, DType::F32, 1), values({40}, DType::F32, 2)});
}

TEST_CASE("memory that somebody else holds keeps what it was", "[jit][launch]") {
  const Graph graph = momentum();
  const Tensors arguments = momentum_arguments(40), before = copies_of(arguments);
  const Ref<Buffer> held = arguments[1].storage()->buffer();
  check_effects(graph, arguments);
  const Tensor kept = Tensor::from_storage(Storage::create(held), arguments[1].layout(), DType::F32);
  CHECK(same_bits(kept, before[1]));
}

TEST_CASE("an argument that others need as it was is not written over", "[jit][launch]") {
  // y reads x as it was, z becomes x as it was, and w reads itself across.
  check_effects(parse_graph("graph functional f(%x: f32[40], %y: f32[40], %z: f32[40], %w: f32[6, 6]) {\n"
                            "  %a = exp(%x) : f32[40]\n"
                            "  %x_1 = add(%a, 1) : f32[40]\n"
                            "  %b = mul(%x, %y) : f32[40]\n"
                            "  %y_1 = sub(%b, 1) : f32[40]\n"
                            "  %t = transpose(%w, dim0=0, dim1=1) : f32[6, 6]\n"
                            "  %c = add(%t, %w) : f32[6, 6]\n"
                            "  %w_1 = mul(%c, 2) : f32[6, 6]\n"
                            "  return %x_1\n"
                            "  write %x <- %x_1\n"
                            "  write %y <- %y_1\n"
                            "  write %z <- %x\n"
                            "  write %w <- %w_1\n"
                            "}\n"),
                Tensors{values({40}, DType::F32, 1), values({40}, DType::F32, 2), values({40}, DType::F32, 3),
                        values({6, 6}, DType::F32, 4)});
}

TEST_CASE("every dtype is written over, and none is where the result is of another", "[jit][launch]") {
  for (const DType dtype : {DType::U8, DType::I16, DType::I64, DType::F16, DType::BF16, DType::F64}) {
    const std::string type = std::string(name(dtype));
    check_effects(
        parse_graph("graph functional f(%x: " + type + "[37], %y: f32[37]) {\n" +
                    "  %a = add(%x, %x) : " + type + "[37]\n" +  //
                    "  %x_1 = sub(%a, 3) : " + type + "[37]\n" + "  %b = cast(%x_1, dtype=f32) : f32[37]\n" +
                    "  %y_1 = mul(%b, 0.5) : f32[37]\n" +
                    "  return %x_1\n  write %x <- %x_1\n  write %y <- %y_1\n}\n"),
        Tensors{values({37}, dtype, 1), values({37}, DType::F32, 2)});
  }
}

TEST_CASE("an interrupt finds all of a launch done", "[jit][launch]") {
  const Graph graph = momentum();
  const Tensors arguments = momentum_arguments(10'000), expected = copies_of(arguments);
  const auto executable = Executable::make(fuse(graph).graph);
  evaluate(graph, expected);
  interrupt_requested = true;
  CHECK_NOTHROW(executable->run(arguments, bind_symbols(graph, arguments)));
  CHECK(interrupt_requested.exchange(false));
  for (std::size_t k = 0; k < arguments.size(); ++k) CHECK(same_bits(arguments[k], expected[k]));
}

TEST_CASE("a kernel writes over what it is the last to read", "[jit][launch]") {
  for (const Dim n : {1000, 100'000}) {  // small results are made together in the end
    INFO(n);
    CHECK(tensors_at_once("  %a = cumsum(%x, dim=0) : f32[s]\n"
                          "  %b = exp(%a) : f32[s]\n"
                          "  %c = mul(%b, %x) : f32[s]\n"
                          "  return %c\n",
                          n) == 1);
    // Not what is read once more, or is handed out.
    CHECK(tensors_at_once("  %a = cumsum(%x, dim=0) : f32[s]\n"
                          "  %b = exp(%a) : f32[s]\n"
                          "  %c = mul(%b, %x) : f32[s]\n"
                          "  return %a, %c\n",
                          n) == 2);
    CHECK(tensors_at_once("  %a = cumsum(%x, dim=0) : f32[s]\n"
                          "  %b = exp(%a) : f32[s]\n"
                          "  %c = mul(%b, %x) : f32[s]\n"
                          "  %d = cumsum(%c, dim=0) : f32[s]\n"
                          "  %e = sin(%a) : f32[s]\n"
                          "  %g = mul(%e, %d) : f32[s]\n"
                          "  return %g\n",
                          n) == 3);
    // Nor where elements are read in another order.
    CHECK(tensors_at_once("  %a = cumsum(%x, dim=0) : f32[s]\n"
                          "  %b = flip(%a, dims=[0]) : f32[s]\n"
                          "  %c = exp(%b) : f32[s]\n"
                          "  %d = mul(%c, %a) : f32[s]\n"
                          "  return %d\n",
                          n) == 2);
  }
}

}  // namespace kiln::launch_test
