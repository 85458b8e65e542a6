#include "jit/graph/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "jit/graph/custom.h"
#include "jit/graph/lifetimes.h"
#include "jit/graph/text.h"
#include "jit/shape_rules.h"

namespace kiln::jit {
namespace {

struct GraphFault {
  std::string text;
  int node = -1;  // -1: of the graph as a whole
};

class Checker {
 public:
  explicit Checker(const Graph& graph) : graph_(graph) {}

  void run() {
    header();
    for (node_ = 0; node_ < static_cast<int>(graph_.nodes.size()); ++node_) {
      node(graph_.nodes[static_cast<std::size_t>(node_)]);
    }
    node_ = -1;
    if (defined_ != static_cast<ValueId>(graph_.values.size())) fail("there are values that nothing defines");
    for (const Operand& each : graph_.outputs) used(each);
    for (const ValueId id : graph_.saved) used(Operand::of(id));
    for (const Effect& each : graph_.effects) effect(each);
  }

 private:
  [[noreturn]] void fail(std::string text) const { throw GraphFault{std::move(text), node_}; }
  const Type& type(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].type; }

  void header() {
    if (graph_.values.size() < graph_.inputs.size()) fail("there are fewer values than inputs");
    defined_ = static_cast<ValueId>(graph_.inputs.size());
    std::set<std::string> names;
    for (const Value& value : graph_.values) {
      if (!value.name.empty() && !names.insert(value.name).second)
        fail("two values are named %" + value.name);
      symbols(value.type.sizes);
    }
    std::set<int> members;
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const Input& input = graph_.inputs[i];
      if ((input.role == Role::Base) == input.members.empty())
        fail("a base stands for arguments, others do not");
      const Dims& sizes = graph_.values[i].type.sizes;
      if (input.role == Role::Base && (sizes.size() != 1 || !sizes[0].is_known()))
        fail("a base is flat and of known size");
      for (const int member : input.members) {
        if (member < 0 || member >= graph_.argument_count() || !members.insert(member).second)
          fail(fmt::format("a base cannot stand for argument {}", member));
      }
    }
  }
  void symbols(const Dims& sizes) const {
    std::set<std::string> found;
    for (const Dim size : sizes) collect_symbols(size, found);
    for (const std::string& symbol : found) {
      if (!graph_.hints.contains(symbol)) fail("the symbol " + symbol + " has no value after 'where'");
    }
  }

  void used(const Operand& operand) const {
    if (!operand.is_value()) return;
    if (operand.value >= defined_) fail("an operand is not defined before it is used");
    const auto renamed = renamed_.find(tensor_of(operand.value));
    if (renamed != renamed_.end() && operand.value < renamed->second) {
      fail("after a write of its layout, a tensor goes by the name of the result");
    }
  }

  // The first value that is this very tensor: the result of a write is what was written.
  ValueId tensor_of(ValueId id) const {
    const auto found = written_.find(id);
    return found == written_.end() ? id : found->second;
  }

  void node(const Node& node) {
    for (const Operand& each : node.operands) used(each);
    if (node.is_constant()) {
      if (!node.constant || !node.constant.is_contiguous()) fail("a constant has no contiguous tensor");
    } else {
      form(node);
    }
    for (const ValueId id : node.outputs) {
      if (id != defined_++) fail("results are not numbered in order");
    }
    types(node);
    if (!node.writes()) return;
    const ValueId tensor = tensor_of(node.operands[0].value);
    written_[node.outputs[0]] = tensor;
    if (node.writes_metadata()) renamed_[tensor] = node.outputs[0];
  }

  void form(const Node& node) const {
    const Op& op = *node.op;
    const auto singles = static_cast<std::size_t>(op.signature.inputs);
    if (op.signature.has_list ? node.operands.size() < singles : node.operands.size() != singles) {
      fail(fmt::format("{} has {} operands", op.name(), node.operands.size()));
    }
    if (node.attrs.size() != Attrs(op).values().size()) fail("an attribute is missing");
    if (node.form == Form::Copy && op.view == nullptr) fail("only views have a form that copies");
    if (!node.writes()) return;
    if (graph_.is_functional()) return over_dead_memory();
    if (!op.has(kInplace)) fail(std::string(op.name()) + " has no form that writes");
    if (!node.operands[0].is_value()) fail("a write needs a value to write");
  }

  void over_dead_memory() const {
    if (!lifetimes_) lifetimes_.emplace(graph_);
    if (!lifetimes_->may_overwrite(node_)) fail("a write is left after functionalization");
  }

  void types(const Node& node) const {
    if (node.op == &interpreted_op()) return;  // only the interpreter knows
    Inferred inferred;
    try {
      inferred = infer_types(graph_, node);
    } catch (const OpError& error) {
      fail(error.message());
    }
    if (inferred.types.size() != node.outputs.size()) {
      fail(fmt::format("the op has {} results, the node {}", inferred.types.size(), node.outputs.size()));
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      Type stated = type(node.outputs[k]);
      stated.strides.reset();
      inferred.types[k].strides.reset();
      if (same_type(stated, inferred.types[k])) continue;
      fail(fmt::format("the type is {}, the rule gives {}", to_string(stated), to_string(inferred.types[k])));
    }
  }
  // Sizes that the rules express in another way are equal when they are so at the hints; `check_shapes` is
  // the judge at other values.
  bool same_type(const Type& a, const Type& b) const {
    return a == b || evaluate(a, graph_.hints) == evaluate(b, graph_.hints);
  }

  // The input that a value is a view of.
  ValueId input_of(ValueId id) const {
    if (graph_.is_input(id)) return id;
    for (const Node& node : graph_.nodes) {
      if (node.is_view() && std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end())
        return input_of(node.operands[0].value);
    }
    fail("an effect is not on an input");
  }

  void effect(const Effect& effect) const {
    used(Operand::of(effect.value));
    if (effect.value < 0) fail("an effect has no value");
    used(Operand::of(effect.input));
    const bool is_on_view = graph_.is_functional() && effect.kind == Effect::Kind::Write;
    if (input_of(effect.input) != effect.input && !is_on_view) fail("an effect is not on an input");
    const Input& input = graph_.inputs[static_cast<std::size_t>(input_of(effect.input))];
    if (effect.member >= static_cast<int>(input.members.size())) fail("an effect is on no member of a base");
    if (effect.kind == Effect::Kind::Layout && !effect.layout->has(kMetadataWrite)) {
      fail(inplace_name(*effect.layout) + " writes no layout");
    }
    if (effect.kind == Effect::Kind::Set && type(effect.input).dtype != type(effect.value).dtype)
      fail("a tensor takes the storage of another dtype");
    if (effect.kind == Effect::Kind::Write && effect.member < 0) {
      const Type &to = type(effect.input), &from = type(effect.value);
      if (to.dtype != from.dtype || evaluate(to.sizes, graph_.hints) != evaluate(from.sizes, graph_.hints)) {
        fail(fmt::format("a {} is written to a {}", to_string(from), to_string(to)));
      }
    }
  }

  const Graph& graph_;
  ValueId defined_ = 0;
  std::map<ValueId, ValueId> written_;  // results of writes, by the tensor they are
  std::map<ValueId, ValueId> renamed_;  // tensors whose layout was written, and their name since
  int node_ = -1;
  mutable std::optional<Lifetimes> lifetimes_;  // when first asked for
};

// The line of a node, or its op alone when its operands are not there.
std::string node_text(const Graph& graph, int at) {
  const std::vector<std::string> names = value_names(graph);
  const Node& node = graph.nodes[static_cast<std::size_t>(at)];
  const bool printable = std::all_of(node.operands.begin(), node.operands.end(), [&](const Operand& each) {
    return each.value < static_cast<int>(names.size());
  });
  return printable ? print_node(graph, node, names) : op_text(node);
}

// The node among ten neighbours.
std::string neighbourhood(const Graph& graph, int at) {
  const int count = static_cast<int>(graph.nodes.size());
  std::string text;
  for (int i = std::max(at - 5, 0); i < std::min(at + 6, count); ++i) {
    text += (i == at ? "> " : "  ") + node_text(graph, i) + "\n";
  }
  const std::string place = place_text(graph, graph.nodes[static_cast<std::size_t>(at)]);
  return place.empty() ? text : text + "from " + place + "\n";
}

std::optional<GraphFault> first_fault(const Graph& graph) {
  try {
    Checker(graph).run();
    return std::nullopt;
  } catch (GraphFault& fault) {
    return std::move(fault);
  }
}

}  // namespace

std::string find_fault(const Graph& graph) {
  const auto fault = first_fault(graph);
  if (!fault) return "";
  return fault->node < 0 ? fault->text : fault->text + " at " + node_text(graph, fault->node);
}

void verify(const Graph& graph, std::string_view pass) {
  const auto fault = first_fault(graph);
  if (!fault) return;
  std::string text = fmt::format("after {}, graph {} is wrong: {}\n", pass, graph.name, fault->text);
  if (fault->node >= 0) text += neighbourhood(graph, fault->node);
  throw InternalError(text);
}

}  // namespace kiln::jit
