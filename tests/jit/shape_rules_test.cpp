// Symbolic sizes through the shape rules of the table: every op's samples with one size made a symbol, and
// the expressions that known rules must give.
#include "jit/shape_rules.h"

#include <catch2/catch.hpp>

#include "jit/graph/text.h"
#include "tests/jit/graphs.h"

namespace kiln::shape_rules_test {

using namespace kiln::jit;

namespace {

const Dim s0 = Dim::symbol("s0"), b = Dim::symbol("b");

Inferred infer(std::string_view op, std::vector<Dims> operands,
               std::vector<std::pair<const char*, Attr>> attrs,
               const SymbolValues& hints = {{"b", 6}, {"s0", 8}}) {
  Node node;
  node.op = &OpTable::get().at(op);
  node.attrs = attr_list(Attrs(*node.op));
  for (const auto& [name, value] : attrs) node.attr(name) = value;
  std::vector<Type> types;
  for (const Dims& sizes : operands) types.push_back({DType::F32, Device{}, sizes, false, std::nullopt});
  return infer_types(*node.op, types, node.attrs, hints);
}
std::string sizes_of(const Inferred& inferred) {
  CHECK(inferred.guards.empty());
  return text_of(inferred.types[0].sizes);
}

// The graph of a sample in which the sizes equal to the first size of the first input are a symbol.
std::optional<Graph> with_symbol(const Graph& graph) {
  if (graph.inputs.empty() || graph.values[0].type.sizes.empty()) return std::nullopt;
  const Dim first = graph.values[0].type.sizes[0];
  if (first.known() < 2) return std::nullopt;
  Builder builder;
  builder.graph.name = graph.name;
  builder.graph.hints = {{"s0", first.known()}};
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    Type type = graph.values[i].type;
    for (Dim& size : type.sizes) {
      if (same(size, first)) size = s0;
    }
    builder.input("", type);
  }
  try {
    for (const ValueId id : builder.append(graph.nodes[0])) builder.graph.outputs.push_back(Operand::of(id));
  } catch (const OpError&) {
    return std::nullopt;
  }
  return builder.graph;
}

}  // namespace

TEST_CASE("shape rules give expressions", "[jit][shape_rules]") {
  CHECK(sizes_of(infer("add", {{s0, 4}, {4}}, {})) == "[s0, 4]");
  CHECK(sizes_of(infer("matmul", {{b, s0}, {s0, 10}}, {})) == "[b, 10]");
  CHECK(sizes_of(infer("cat", {{s0, 2}, {b, 2}, {3, 2}}, {})) == "[b + s0 + 3, 2]");
  CHECK(sizes_of(infer("flatten", {{s0, b, 2}}, {})) == "[2*b*s0]");
  CHECK(sizes_of(infer("view", {{s0, b}}, {{"shape", Dims{b, -1}}})) == "[b, s0]");
  CHECK(sizes_of(infer("view", {{s0, 6}}, {{"shape", Dims{-1, 3}}})) == "[2*s0, 3]");
  CHECK(sizes_of(infer("slice", {{s0}}, {{"start", Dim(1)}, {"end", s0}})) == "[s0 - 1]");
  CHECK(sizes_of(infer("slice", {{s0}}, {{"step", Dim(2)}})) == "[((s0 + 1)//2)]");
  CHECK(sizes_of(infer("unfold", {{s0}}, {{"dimension", Dim(0)}, {"size", Dim(2)}, {"step", Dim(2)}})) ==
        "[(s0//2), 2]");
  CHECK(sizes_of(infer("sum", {{s0, b}}, {{"dim", Dims{1}}})) == "[s0]");
  CHECK(sizes_of(infer("zeros", {}, {{"size", Dims{s0, 2}}})) == "[s0, 2]");
}

TEST_CASE("what a rule asks of symbols is a guard", "[jit][shape_rules]") {
  const Inferred inferred = infer("add", {{s0}, {8}}, {});
  CHECK(text_of(inferred.types[0].sizes) == "[8]");
  REQUIRE(inferred.guards.size() == 1);
  CHECK(to_string(inferred.guards[0]) == "s0 == 8 (add)");
  const Inferred windows =
      infer("unfold", {{s0}}, {{"dimension", Dim(0)}, {"size", Dim(3)}, {"step", Dim(2)}});
  CHECK(text_of(windows.types[0].sizes) == "[((s0 + 1)//2) - 1, 3]");
  REQUIRE(windows.guards.size() == 1);
  CHECK(to_string(windows.guards[0]) == "3 <= s0 (unfold)");
}

TEST_CASE("a shape that depends on data is refused", "[jit][shape_rules]") {
  CHECK_THROWS_AS(infer("nonzero", {{4}}, {}), OpError);
}

TEST_CASE("every op infers with a symbol, and check_shapes agrees with it", "[jit][shape_rules]") {
  int symbolic = 0;
  jit::testing::for_each_sample([&](const Op& op, const std::vector<Tensor>&, const Graph& graph) {
    const std::optional<Graph> made = with_symbol(graph);
    if (!made) return;
    INFO(op.name() << "\n" << print_graph(*made));
    CHECK(parse_graph(print_graph(*made)) == *made);
    CHECK(check_shapes(*made, made->hints).empty());
    for (const Operand& output : made->outputs) {
      const Type& type = made->values[static_cast<std::size_t>(output.value)].type;
      symbolic +=
          std::count_if(type.sizes.begin(), type.sizes.end(), [](Dim each) { return !each.is_known(); });
    }
  });
  CHECK(symbolic > 200);
}

TEST_CASE("check_shapes reports where a graph does not hold", "[jit][shape_rules]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[s0], %y: f32[8]) where s0 = 8 {\n"
      "  %0 = add(%x, %y) : f32[8]\n"
      "  %1 = view(%0, shape=[2, -1]) : f32[2, 4]\n"
      "  return %1\n"
      "}\n");
  CHECK(check_shapes(graph, {{"s0", 8}}).empty());
  CHECK(check_shapes(graph, {{"s0", 7}}).find("%0 = add(%x, %y)") == 0);
  const Graph reshaped = parse_graph(
      "graph functional f(%x: f32[s0]) where s0 = 8 {\n"
      "  %0 = view(%x, shape=[2, -1]) : f32[2, (s0//2)]\n"
      "  return %0\n"
      "}\n");
  CHECK(check_shapes(reshaped, {{"s0", 10}}).empty());
  CHECK_FALSE(check_shapes(reshaped, {{"s0", 9}}).empty());
}

}  // namespace kiln::shape_rules_test
