#include "jit/graph/drawing.h"

#include <fmt/format.h>

#include "jit/graph/text.h"

namespace kiln::jit {
namespace {

class Drawer {
 public:
  explicit Drawer(const Graph& graph)
      : graph_(graph), names_(value_names(graph)), producers_(graph.producers()) {}

  std::vector<DrawingPart> parts() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) input(i);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) node(i);
    returned();
    written();
    saved();
    return std::move(parts_);
  }

 private:
  const std::string& name(ValueId id) const { return names_[static_cast<std::size_t>(id)]; }

  void arrow(ValueId from, std::string to, ArrowStyle style = ArrowStyle::Use) {
    const int producer = producers_[static_cast<std::size_t>(from)];
    parts_.emplace_back(Arrow{producer < 0 ? fmt::format("i{}", from) : fmt::format("n{}", producer),
                              std::move(to), to_string(graph_.values[static_cast<std::size_t>(from)].type),
                              style});
  }

  void input(std::size_t i) {
    const Role role = graph_.inputs[i].role;
    const std::string prefix = role == Role::Argument ? "" : std::string(jit::name(role)) + " ";
    parts_.emplace_back(Box{fmt::format("i{}", i), false, prefix + names_[i]});
  }

  void node(std::size_t i) {
    const Node& node = graph_.nodes[i];
    std::string label = op_text(node);
    for (const ValueId id : node.outputs) label += " " + name(id);
    std::string tip = print_node(graph_, node, names_);
    if (const std::string place = place_text(graph_, node); !place.empty()) tip += "  " + place;
    parts_.emplace_back(Box{fmt::format("n{}", i), true, std::move(label), std::move(tip)});
    for (const Operand& operand : node.operands) {
      if (operand.is_value()) arrow(operand.value, fmt::format("n{}", i));
    }
  }

  void returned() {
    if (!graph_.outputs.empty()) parts_.emplace_back(Box{"returned", false, "return"});
    for (const Operand& operand : graph_.outputs) {
      if (operand.is_value()) arrow(operand.value, "returned");
    }
  }

  void written() {
    for (std::size_t i = 0; i < graph_.effects.size(); ++i) {
      parts_.emplace_back(Box{fmt::format("e{}", i), false, print_effect(graph_, graph_.effects[i])});
      arrow(graph_.effects[i].value, fmt::format("e{}", i), ArrowStyle::Write);
    }
  }

  void saved() {
    for (std::size_t i = 0; i < graph_.saved_sizes.size(); ++i)
      parts_.emplace_back(Box{fmt::format("z{}", i), false, "save " + graph_.saved_sizes[i]});
    for (std::size_t i = 0; i < graph_.saved.size(); ++i) {
      parts_.emplace_back(Box{fmt::format("s{}", i), false, "save " + name(graph_.saved[i])});
      arrow(graph_.saved[i], fmt::format("s{}", i), ArrowStyle::Save);
    }
  }

  const Graph& graph_;
  std::vector<std::string> names_;
  std::vector<int> producers_;
  std::vector<DrawingPart> parts_;
};

}  // namespace

std::vector<DrawingPart> drawing_of(const Graph& graph) { return Drawer(graph).parts(); }

}  // namespace kiln::jit
