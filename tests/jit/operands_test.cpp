// Generated from the op table: numbers and other dtypes as tensor arguments of compiled graphs. They give
// what the ops give, or raise the same errors.
#include <catch2/catch.hpp>

#include "jit/passes/passes.h"
#include "tests/effort.h"
#include "tests/jit/fused_support.h"
#include "tests/jit/graphs.h"
#include "tests/tensor/samples_operands.h"

namespace kiln::operands_test {

using namespace kiln::jit;
using namespace kiln::testing;

namespace {

Operand operand_of(Builder& builder, const Tensor& x) {
  if (!x) return Operand{};
  if (!x.is_number()) return Operand::of(builder.input("", to_type(x.type())));
  if (x.dtype() == DType::Bool) return Operand::of_number(x.item_bool());
  if (is_float(x.dtype())) return Operand::of_number(x.item_float());
  return Operand::of_number(Dim(x.item_int()));
}

// The op applied once; nothing where it has no graph.
std::optional<Graph> graph_of(const Operands& operands) {
  Builder builder;
  builder.graph.name = "operands";
  builder.graph.stage = Stage::Functional;
  Node node;
  node.op = &operands.op;
  node.attrs = attr_list(operands.attrs);
  for (const Tensor& x : operands.inputs) node.operands.push_back(operand_of(builder, x));
  try {
    for (const ValueId id : builder.append(std::move(node))) builder.graph.outputs.push_back(Operand::of(id));
    return decompose(std::move(builder.graph));
  } catch (const OpError&) {  // it is refused, or its shape depends on data
    return std::nullopt;
  }
}

void check_compiled(const Operands& operands) {
  const std::optional<Graph> graph = graph_of(operands);
  if (!graph) return;
  std::vector<Tensor> arguments;
  for (const Tensor& x : operands.inputs)
    if (x && !x.is_number()) arguments.push_back(x);
  INFO(operands.described());
  if (!arguments.empty()) check_same(*graph, fuse(*graph), arguments);
}

}  // namespace

TEST_CASE("numbers as arguments compile to what the ops give", "[jit][operands]") {
  int number = 0;
  each_with_number([&](const Operands& operands) {
    if (number++ % kEvery == 0) check_compiled(operands);
  });
}

TEST_CASE("arguments of other dtypes compile to what the ops give", "[jit][operands]") {
  constexpr int kOneOf = 7;
  int number = 0;
  each_with_other_dtype([&](const Operands& operands) {
    if (number++ % (kOneOf * kEvery) == 0) check_compiled(operands);
  });
}

}  // namespace kiln::operands_test
