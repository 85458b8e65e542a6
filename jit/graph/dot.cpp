#include "jit/graph/dot.h"

#include <fmt/format.h>

#include "jit/graph/text.h"

namespace kiln::jit {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

class Picture {
 public:
  explicit Picture(const Graph& graph)
      : graph_(graph), names_(value_names(graph)), producers_(graph.producers()) {}

  std::string text() {
    text_ = fmt::format(
        "digraph {} {{\n  rankdir=TB;\n  node [fontname=\"monospace\", fontsize=11];\n"
        "  edge [fontname=\"monospace\", fontsize=9];\n",
        quoted(graph_.name));
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) input(i);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) node(i);
    results();
    return text_ + "}\n";
  }

 private:
  const std::string& name(ValueId id) const { return names_[static_cast<std::size_t>(id)]; }
  // The box that a value comes from.
  std::string box(ValueId id) const {
    const int producer = producers_[static_cast<std::size_t>(id)];
    return producer < 0 ? fmt::format("i{}", id) : fmt::format("n{}", producer);
  }
  void edge(ValueId from, const std::string& to, std::string_view style = "") {
    const std::string type = to_string(graph_.values[static_cast<std::size_t>(from)].type);
    text_ += fmt::format("  {} -> {} [label={}{}];\n", box(from), to, quoted(type), style);
  }

  void input(std::size_t i) {
    const Role role = graph_.inputs[i].role;
    const std::string prefix = role == Role::Argument ? "" : std::string(jit::name(role)) + " ";
    text_ += fmt::format("  i{} [shape=ellipse, label={}];\n", i, quoted(prefix + names_[i]));
  }

  void node(std::size_t i) {
    const Node& node = graph_.nodes[i];
    std::string label = op_text(node);
    for (const ValueId id : node.outputs) label += " " + name(id);
    std::string tip = print_node(graph_, node, names_);
    if (const std::string place = place_text(graph_, node); !place.empty()) tip += "  " + place;
    text_ += fmt::format("  n{} [shape=box, label={}, tooltip={}];\n", i, quoted(label), quoted(tip));
    for (const Operand& operand : node.operands) {
      if (operand.is_value()) edge(operand.value, fmt::format("n{}", i));
    }
  }

  void results() {
    if (!graph_.outputs.empty()) text_ += "  returned [shape=ellipse, label=\"return\"];\n";
    for (const Operand& operand : graph_.outputs) {
      if (operand.is_value()) edge(operand.value, "returned");
    }
    for (std::size_t k = 0; k < graph_.effects.size(); ++k) {
      const Effect& effect = graph_.effects[k];
      text_ += fmt::format("  e{} [shape=ellipse, label={}];\n", k, quoted(print_effect(graph_, effect)));
      edge(effect.value, fmt::format("e{}", k), ", style=dashed");
    }
    for (const std::string& each : graph_.saved_sizes)
      text_ +=
          fmt::format("  {} [shape=ellipse, label={}];\n", quoted("save " + each), quoted("save " + each));
    for (std::size_t k = 0; k < graph_.saved.size(); ++k) {
      text_ += fmt::format("  s{} [shape=ellipse, label={}];\n", k, quoted("save " + name(graph_.saved[k])));
      edge(graph_.saved[k], fmt::format("s{}", k), ", style=dotted");
    }
  }

  const Graph& graph_;
  std::vector<std::string> names_;
  std::vector<int> producers_;
  std::string text_;
};

}  // namespace

std::string dot_text(const Graph& graph) { return Picture(graph).text(); }

}  // namespace kiln::jit
