#include "tests/jit/fused_programs.h"

#include <random>

#include "jit/graph/rewrite.h"
#include "jit/passes/passes.h"
#include "jit/shape_rules.h"
#include "tensor/ops/pointwise.h"
#include "tests/jit/fused_support.h"
#include "tests/jit/graphs.h"
#include "tests/tensor/tensors.h"

namespace kiln::testing {

using namespace kiln::jit;

std::vector<Attr> some_attrs(const Op& op, std::int64_t number) {
  std::vector<Attr> attrs = attr_list(Attrs(op));
  std::size_t index = 0;
  for (const Parameter& parameter : op.signature.parameters) {
    if (parameter.kind <= ArgKind::OptionalTensorList) continue;
    if (!parameter.words.empty()) {
      attrs[index] = parameter.words[static_cast<std::size_t>(number) % parameter.words.size()];
    } else if (!parameter.has_default && parameter.kind == ArgKind::String) {
      attrs[index] = std::string("an element is wrong");
    } else if (!parameter.has_default) {
      attrs[index] = Dim(number);
    }
    ++index;
  }
  return attrs;
}

namespace {

// A random program of elementwise rows, conversions and views over inputs that broadcast.
class Program {
 public:
  explicit Program(unsigned seed) : engine_(seed) {
    builder_.graph.stage = Stage::Functional;
    builder_.graph.name = "program";
    builder_.graph.hints = {{"m", 3}, {"n", 5}};
  }

  Graph run() {
    const Dim m = Dim::symbol("m"), n = Dim::symbol("n");
    const std::vector<Dims> shapes = {{m, n}, {m, n}, {m, n}, {n}, {m, 1}, {}, {1, n}, {n, m}};
    for (int i = 0; i < 5; ++i) {
      builder_.input("", {kDTypes[draw(std::size(kDTypes))], {}, shapes[draw(shapes.size())], false, {}});
    }
    while (builder_.graph.nodes.size() < 12) step();
    for (int i = 0; i < 3; ++i) builder_.graph.outputs.push_back(Operand::of(any()));
    builder_.graph.outputs.push_back(Operand::of(static_cast<ValueId>(builder_.graph.values.size()) - 1));
    return builder_.graph;
  }

 private:
  std::size_t draw(std::size_t count) { return engine_() % count; }
  // Later values are read more often.
  ValueId any() {
    const std::size_t count = builder_.graph.values.size();
    return static_cast<ValueId>(std::max(draw(count), draw(count)));
  }
  Operand operand() {
    switch (draw(8)) {
      case 0:
        return Operand::of_number(static_cast<double>(draw(9)) * 0.25 - 1.0);
      case 1:
        return Operand::of_number(draw(2) == 0 ? Number(Dim(3)) : Number(Dim::symbol("n") * 2));
      default:
        return Operand::of(any());
    }
  }

  // Of what is computed, in other dimensions: as it lies in memory that is always a view.
  void reshaped() {
    const Node& node = builder_.graph.nodes[draw(builder_.graph.nodes.size())];
    if (node.is_constant() || node.op->pointwise == nullptr) return;
    Dim count(1);
    for (const Dim each : builder_.graph.values[static_cast<std::size_t>(node.outputs[0])].type.sizes)
      count = count * each;
    append("view", {Operand::of(node.outputs[0])}, {draw(2) == 0 ? Dims{count} : Dims{count, Dim(1)}});
  }

  ValueId append(const char* op, std::vector<Operand> operands, std::vector<Attr> attrs) {
    Node node;
    node.op = &OpTable::get().at(op);
    node.operands = std::move(operands);
    node.attrs = attrs.empty() ? some_attrs(*node.op, 0) : std::move(attrs);
    return builder_.append(std::move(node))[0];
  }

  // As writes through views become: a part of a tensor, or a part of that part, with other elements.
  ValueId replaced(ValueId base, int depth) {
    static const char* const kViews[] = {"slice", "select", "diagonal"};
    const std::string view = kViews[draw(std::size(kViews))];
    std::vector<Attr> attrs = some_attrs(OpTable::get().at(view), static_cast<std::int64_t>(draw(2)));
    if (view == "slice") {
      const auto step = static_cast<std::int64_t>(draw(3) / 2 + 1);
      attrs = {Dim(static_cast<std::int64_t>(draw(2))), Dim(1), Dim(draw(2) == 0 ? -1 : 40), Dim(step)};
    }
    const ValueId part = append(view.c_str(), {Operand::of(base)}, attrs);
    const ValueId made = depth > 0 && draw(2) == 0
                             ? replaced(part, depth - 1)
                             : append("add", {Operand::of(part), Operand::of_number(1.5)}, {});
    return append((view + "_scatter").c_str(), {Operand::of(draw(8) == 0 ? any() : base), Operand::of(made)},
                  attrs);
  }

  void step() {
    Node node;
    const std::size_t kind = draw(11);
    if (kind == 10) {
      if (!builder_.graph.nodes.empty()) reshaped();
      return;
    }
    if (kind == 2) {
      const Builder before = builder_;
      try {
        replaced(any(), 1);
      } catch (const OpError&) {  // of other sizes, or of a number
        builder_ = before;
      }
      return;
    }
    if (kind == 0) {
      node.op = &OpTable::get().at("cast");
      node.attrs = {kDTypes[draw(std::size(kDTypes))]};
    } else if (kind == 1) {
      static const char* const kViews[] = {"transpose", "unsqueeze", "slice"};
      node.op = &OpTable::get().at(kViews[draw(std::size(kViews))]);
      node.attrs = some_attrs(*node.op, static_cast<std::int64_t>(draw(2)));
    } else {
      const auto ops = OpTable::get().ops();
      do node.op = ops[draw(ops.size())];
      while (node.op->pointwise == nullptr);
      node.attrs = some_attrs(*node.op, static_cast<std::int64_t>(draw(3)));
    }
    node.operands.push_back(Operand::of(any()));
    while (node.operands.size() < static_cast<std::size_t>(node.op->signature.inputs))
      node.operands.push_back(operand());
    try {
      const Inferred inferred = infer_types(builder_.graph, node);
      if (inferred.types[0].is_number || !inferred.guards.empty()) return;
      builder_.append(node);
    } catch (const OpError&) {  // dtypes or shapes that do not go together
    }
  }

  std::mt19937 engine_;
  Builder builder_;
};

// Is an argument seen through a view before a kernel? Then it lies as its type says, which guards see to.
bool is_viewed(const FusedGraph& fused, std::size_t argument) {
  return std::any_of(fused.graph.nodes.begin(), fused.graph.nodes.end(), [&](const Node& node) {
    return node.is_view() && node.operands[0].value == static_cast<ValueId>(argument);
  });
}

}  // namespace

Graph elementwise_program(unsigned seed) { return dce(Program(seed).run()); }

std::vector<Tensor> arguments_for(const Graph& graph, const FusedGraph& fused, const SymbolValues& symbols,
                                  unsigned seed) {
  std::vector<Tensor> arguments;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const TensorType type = evaluate(graph.values[i].type, symbols);
    const Tensor x = values(type.sizes, type.dtype, static_cast<int>(i + seed));
    const std::size_t layout = is_viewed(fused, i) ? 0 : (i + seed) % 3;
    arguments.push_back(layout == 0 ? x : layout == 1 ? strided(x) : backwards(x));
  }
  return arguments;
}

namespace {

// Random programs of elementwise ops over rows, reductions of them, and ops on what those give.
class RowProgram {
 public:
  // With rows of any length, or of that one.
  explicit RowProgram(unsigned seed, std::optional<Dim> length = std::nullopt)
      : engine_(seed), m_(length ? Dim(*length) : Dim::symbol("m")) {
    builder_.graph.stage = Stage::Functional;
    builder_.graph.name = "program";
    builder_.graph.hints = {{"m", 70}, {"n", 20000}};
  }

  Graph run() {
    const Dim m = m_, n = Dim::symbol("n");
    const std::vector<Dims> shapes = {{n, m}, {n, m}, {n, 1}, {m}, {n}, {}};
    static constexpr DType kOfRows[] = {DType::F32, DType::F32, DType::F16, DType::F64,
                                        DType::I32, DType::U8,  DType::Bool};
    for (int i = 0; i < 5; ++i)
      builder_.input(
          "", {kOfRows[draw(std::size(kOfRows))], {}, shapes[i < 2 ? 0 : draw(shapes.size())], false, {}});
    while (builder_.graph.nodes.size() < 12) step();
    for (int i = 0; i < 4; ++i) builder_.graph.outputs.push_back(Operand::of(any()));
    return dce(builder_.graph);
  }

 private:
  std::size_t draw(std::size_t count) { return engine_() % count; }
  ValueId any() {
    const std::size_t count = builder_.graph.values.size();
    return static_cast<ValueId>(std::max(draw(count), draw(count)));
  }
  void step() {
    static const char* const kOps[] = {"add", "mul", "sub",  "exp",  "tanh", "neg",  "maximum",
                                       "sum", "sum", "amax", "amin", "prod", "cast", "where"};
    Node node;
    node.op = &OpTable::get().at(kOps[draw(std::size(kOps))]);
    node.attrs = attr_list(Attrs(*node.op));
    if (node.op->lowering == Lowering::Reduce) {
      const std::size_t kind = draw(4);
      if (kind > 0) node.attr("dim") = Dims{kind > 1 ? 0 : -1};
      node.attr("keepdim") = draw(3) > 0;
      if (node.op->name() == "sum" && draw(3) == 0)
        node.attr("dtype") = draw(2) == 0 ? DType::F64 : DType::I32;
    }
    if (node.op->name() == "cast") node.attrs = {draw(2) == 0 ? DType::BF16 : DType::F32};
    for (int i = 0; i < node.op->signature.inputs; ++i) node.operands.push_back(Operand::of(any()));
    try {
      if (infer_types(builder_.graph, node).guards.empty()) builder_.append(node);
    } catch (const OpError&) {  // dtypes or shapes that do not go together
    }
  }

  std::mt19937 engine_;
  Dim m_;
  Builder builder_;
};

}  // namespace

Graph row_program(unsigned seed, std::optional<Dim> length) { return RowProgram(seed, length).run(); }

std::vector<Tensor> noise_for(const Graph& graph, const SymbolValues& symbols, unsigned seed) {
  std::vector<Tensor> arguments;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const TensorType type = evaluate(graph.values[i].type, symbols);
    const Tensor x = noise(type.sizes, type.dtype, static_cast<int>(i + seed), 0.1, 2.5);
    arguments.push_back((i + seed) % 3 == 0 ? backwards(x) : x);
  }
  return arguments;
}

}  // namespace kiln::testing
