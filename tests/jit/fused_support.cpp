#include "tests/jit/fused_support.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/runtime/executable.h"
#include "tensor/ops/pointwise.h"
#include "tensor/random.h"
#include "tests/jit/graphs.h"

namespace kiln::testing {

using namespace kiln::jit;

Tensor values(const Dims& sizes, DType dtype, int seed) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  static constexpr double kSpecial[] = {0.0,          -0.0,  1.0, -1.0, kInf, -kInf,
                                        std::nan(""), 1e-40, 6e4, 1e30, 0.5,  88.8};
  const Tensor plain = noise(sizes, DType::F64, seed, -9.0, 9.0);
  return make(sizes, dtype, [&](std::int64_t i) {
    const double x = static_cast<double>(element(plain, i));
    if (!is_float(dtype)) return dtype == DType::U8 ? std::abs(x) : x;
    return (i * 7 + seed) % 5 == 0 ? kSpecial[static_cast<std::size_t>(i + seed) % std::size(kSpecial)] : x;
  });
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

Graph graph_of(std::string_view text, std::string_view dtype) {
  return parse_graph(replaced(std::string(text), "T[", std::string(dtype) + "["));
}

namespace {

// What a run gives: results, or the message of the error.
struct FusedOutcome {
  Tensors results;
  std::string error;
};
FusedOutcome outcome(const std::function<Tensors()>& run) {
  try {
    return {run(), ""};
  } catch (const OpError& error) {
    return {{}, error.message()};
  }
}

}  // namespace

namespace {

bool is_failure_of(const Graph& graph, const std::string& error) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    if (node.is_constant() || node.op->pointwise == nullptr || node.op->pointwise->failure.empty())
      return false;
    return failure_of(*node.op, evaluate(*node.op, node.attrs, {})) == error;
  });
}

}  // namespace

void check_same(const Graph& graph, const FusedGraph& fused, Inputs arguments) {
  const FusedOutcome expected = outcome([&] { return evaluate(graph, arguments); });
  const FusedOutcome actual =
      outcome([&] { return Executable::make(fused.graph)->run(arguments, bind_symbols(graph, arguments)); });
  // A kernel runs when its operands are there, so that of several ops that fail it may be another one that is
  // told than the first of the program.
  const bool fails_too = !expected.error.empty() && is_failure_of(graph, actual.error);
  CAPTURE(actual.error, expected.error);
  CHECK((actual.error == expected.error || fails_too));
  REQUIRE(actual.results.size() == expected.results.size());
  for (std::size_t k = 0; k < actual.results.size(); ++k) {
    if (same_bits(actual.results[k], expected.results[k])) continue;
    std::string loops;
    for (const std::string& each : fused.loops()) loops += each;
    FAIL_CHECK("output " << k << " of\n"
                         << print_graph(graph) << fused.fusion() << loops << describe(actual.results[k])
                         << "\nnot\n"
                         << describe(expected.results[k]) << "\nfor " << describe(arguments[0]));
  }
}

void check_same(const Graph& graph, const FusedGraph& fused, std::initializer_list<Tensor> arguments) {
  check_same(graph, fused, Inputs(arguments.begin(), arguments.size()));
}

void check_same_draws(const Graph& graph, const FusedGraph& fused, Inputs arguments) {
  seed(3);
  const Tensors expected = evaluate(graph, arguments);
  const std::uint64_t drawn = generator().offset;
  seed(3);
  const Tensors actual = Executable::make(fused.graph)->run(arguments, bind_symbols(graph, arguments));
  CHECK(generator().offset == drawn);
  REQUIRE(actual.size() == expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) CHECK(same_bits(actual[k], expected[k]));
}

}  // namespace kiln::testing
