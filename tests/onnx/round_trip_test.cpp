// Random graphs that become models, bytes, models and graphs again, and must give what they gave before.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "onnx/export/export.h"
#include "onnx/import/import.h"
#include "tests/effort.h"
#include "tests/onnx/random_graphs.h"
#include "tests/tensor/tensors.h"

namespace kiln::round_trip_test {

using namespace kiln::onnx;

namespace {

constexpr int kGraphs = 40;
constexpr int kNodes = 8;

// `KILN_SEEDS="first count"` tries others.
std::pair<unsigned, int> seeds() {
  const char* const given = std::getenv("KILN_SEEDS");
  if (given == nullptr) return {1, kGraphs / testing::kEvery};
  char* end = nullptr;
  const unsigned long first = std::strtoul(given, &end, 10);
  return {static_cast<unsigned>(first), static_cast<int>(std::strtol(end, nullptr, 10))};
}

Tensors imported_results(const jit::Graph& graph, const std::vector<Tensor>& arguments,
                         const Generator& before) {
  ExportOptions options;
  options.generator = before;
  const Export made = export_graph(graph, {}, options);
  REQUIRE(made.problems.empty());
  const Imported back = import_model(read_model(write_model(made.model)), {});
  REQUIRE(jit::find_fault(back.graph).empty());
  std::vector<Tensor> all;  // a model knows no numbers beside tensors
  for (const Tensor& each : arguments)
    all.push_back(each.is_number() ? ops::full({}, each, each.dtype(), Device{}) : each);
  for (const Tensor& each : back.weights) {
    if (each) all.push_back(each);
  }
  return jit::evaluate(back.graph, all);
}

// How far apart elements may be, in parts of the largest one: operators of ONNX round elsewhere than ops.
long double tolerance(DType dtype) {
  if (dtype == DType::F16) return 2e-3L;
  if (dtype == DType::BF16) return 2e-2L;
  return is_float(dtype) ? 1e-5L : 0;
}

std::string difference(const Tensor& expected, const Tensor& got) {
  if (expected.dtype() != got.dtype() || expected.sizes() != got.sizes())
    return "types differ: " + testing::describe(expected) + ", " + testing::describe(got);
  const std::vector<long double> a = testing::elements(expected), b = testing::elements(got);
  long double largest = 1e-6L;  // below a part of this there is nothing but what rounding left
  for (const long double each : a) largest = std::max(largest, std::fabs(each));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::fabs(a[i] - b[i]) <= tolerance(expected.dtype()) * largest))
      return "elements differ: " + testing::describe(expected) + ", " + testing::describe(got);
  }
  return {};
}

}  // namespace

TEST_CASE("a random graph that is exported and imported gives the same results", "[onnx][round_trip]") {
  const auto [first, count] = seeds();
  for (unsigned seed = first; seed < first + static_cast<unsigned>(count); ++seed) {
    const testing::RunnableGraph random = testing::random_runnable_graph(seed, kNodes);
    CAPTURE(seed, jit::print_graph(random.graph));
    kiln::seed(seed);
    const Generator before = generator();
    const Tensors expected = jit::evaluate(random.graph, random.arguments);
    generator() = before;
    const Tensors got = imported_results(random.graph, random.arguments, before);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(difference(expected[i], got[i]) == "");
    }
  }
}

}  // namespace kiln::round_trip_test
