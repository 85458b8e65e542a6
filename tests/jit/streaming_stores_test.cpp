// Streaming stores of results that outgrow the last cache give the bits of plain stores.
#include "jit/cpu/streaming_stores.h"
#include "jit/loops/kernel_op.h"

#include <catch2/catch.hpp>

#include "jit/graph/text.h"
#include "tensor/cpu/last_cache.h"
#include "tensor/functions.h"
#include "tensor/parallel.h"
#include "tests/jit/fused_support.h"

namespace kiln::streaming_stores_test {

using namespace kiln::jit;
using namespace kiln::testing;

namespace {

// A machine with next to no cache, for as long as it lives.
class SmallCache {
 public:
  SmallCache() : before_(cpu::last_cache_bytes()) { cpu::set_last_cache_bytes(1 << 20); }
  ~SmallCache() { cpu::set_last_cache_bytes(before_); }

 private:
  std::int64_t before_;
};

bool streams(const FusedGraph& fused) {
  return fused.loops().at(0).find("streamed when") != std::string::npos;
}

// On any number of threads, and where rows begin between vectors.
void check_on_threads(const std::string& text, const std::vector<Tensor>& arguments, bool streaming) {
  INFO(text);
  const Graph graph = parse_graph(text);
  const FusedGraph fused = fuse(graph);
  REQUIRE(fused.graph.own_ops.size() == 1);
  CHECK(streams(fused) == streaming);
  const SmallCache cache;
  const int before = num_threads();
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    check_same(graph, fused, arguments);
  }
  set_num_threads(before);
}

std::string chain(const std::string& sizes, DType dtype) {
  const std::string type = std::string(name(dtype)) + sizes;
  return "graph functional f(%x: " + type + ") {\n  %a = add(%x, %x) : " + type +
         "\n  %b = add(%a, %x) : " + type + "\n  return %b\n}\n";
}

}  // namespace

TEST_CASE("large results are streamed past the caches", "[jit][fused][streaming]") {
  for (const DType dtype :
       {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I8, DType::I16, DType::I64}) {
    const Dim count = (1 << 20) + 37;
    check_on_threads(chain("[" + std::to_string(count) + "]", dtype), {values({count}, dtype, 1)}, true);
  }
}

TEST_CASE("small results stay in cache", "[jit][fused][streaming]") {
  const Graph graph = parse_graph(chain("[1000]", DType::F32));
  CHECK_FALSE(streams(fuse(graph)));
  const FusedGraph large = fuse(parse_graph(chain("[1048576]", DType::F32)));
  const FusedKernel kernel = kernels_of(large.graph).at(0);
  const Tensor result = ops::zeros(Dims{1 << 20}, DType::F32);
  const SmallCache cache;
  CHECK(uses_streaming_stores(*kernel.lowered, *kernel.schedule, {&result, 1}));
  cpu::set_last_cache_bytes(64 << 20);
  CHECK_FALSE(uses_streaming_stores(*kernel.lowered, *kernel.schedule, {&result, 1}));
}

TEST_CASE("what the graph reads again stays in cache", "[jit][fused][streaming]") {
  const std::string text =
      "graph functional f(%x: f32[600, 600]) {\n"
      "  %a = add(%x, %x) : f32[600, 600]\n"
      "  %b = add(%a, %x) : f32[600, 600]\n"
      "  %c = matmul(%b, %x) : f32[600, 600]\n"
      "  return %b, %c\n"
      "}\n";
  CHECK_FALSE(streams(fuse(parse_graph(text))));
}

TEST_CASE("rows and blocks are streamed where they begin with a vector", "[jit][fused][streaming]") {
  for (const std::string width : {"1024", "1000", "1016", "70"}) {
    const Dim columns = std::stol(width), rows = (1 << 20) / columns + 3;
    const std::string type = "f32[" + std::to_string(rows) + ", " + width + "]";
    const std::string column = "f32[" + std::to_string(rows) + ", 1]";
    const std::vector<Tensor> x = {values({rows, columns}, DType::F32, 3), values({rows, 1}, DType::F32, 4)};
    check_on_threads("graph functional f(%x: " + type + ", %y: " + column + ") {\n  %a = add(%x, %y) : " +
                         type + "\n  %b = mul(%a, %x) : " + type + "\n  return %b\n}\n",
                     x, true);
    check_on_threads("graph functional f(%x: " + type + ", %y: " + column + ") {\n  %a = add(%x, %y) : " +
                         type + "\n  %s = sum(%a, dim=[1], keepdim=true) : " + column +
                         "\n  %b = sub(%a, %s) : " + type + "\n  return %b\n}\n",
                     x, true);
  }
}

}  // namespace kiln::streaming_stores_test
