#include <fmt/format.h>

#include <algorithm>

#include "jit/flow/flow_names.h"
#include "jit/graph/text.h"

namespace kiln::jit {
namespace {

std::string kind_text(const Type& type) {
  if (!type.is_number) return to_string(type);
  if (type.dtype == DType::Bool) return "bool";
  return type.dtype == DType::I64 ? "int" : "float";
}

std::string where_text(const Place& place) {
  if (place.file.empty()) return {};
  return fmt::format("{}:{}:{}", place.file.get(), place.line, place.column);
}

class Printer {
 public:
  explicit Printer(const FlowGraph& flow) : flow_(flow), names_(flow_value_names(flow)) {
    types_.values = flow.values;
  }

  std::string text() {
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) block(b);
    for (std::size_t e = 0; e < flow_.exits.size(); ++e) {
      const FlowExit& exit = flow_.exits[e];
      line(fmt::format("exit {}({}) because {}", e, operands(exit.values), exit.reason), exit.place);
    }
    return header() + align_comments(lines_) + "}\n";
  }

 private:
  void line(std::string text, const Place& place = {}) {
    lines_.push_back({std::move(text), where_text(place)});
  }
  const std::string& name(ValueId id) const { return names_[static_cast<std::size_t>(id)]; }
  std::string operand(const Operand& each) const {
    if (each.is_value()) return name(each.value);
    if (!each.is_number()) return "none";
    if (const auto* flag = std::get_if<bool>(&each.number)) return *flag ? "true" : "false";
    if (const auto* size = std::get_if<Dim>(&each.number)) return size->text();
    const std::string text = fmt::format("{}", std::get<double>(each.number));
    return text.find_first_of(".ein") == std::string::npos ? text + ".0" : text;
  }
  std::string operands(const std::vector<Operand>& all) const {
    std::string text;
    for (const Operand& each : all) text += (text.empty() ? "" : ", ") + operand(each);
    return text;
  }
  std::string declared(std::span<const ValueId> values) const {
    std::string text;
    for (const ValueId id : values)
      text += (text.empty() ? "" : ", ") + name(id) + ": " + kind_text(flow_.type(id));
    return text;
  }

  std::string header() const {
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < flow_.inputs.size(); ++i) inputs.push_back(static_cast<ValueId>(i));
    std::string text = fmt::format("flow {}({})", flow_.name, declared(inputs));
    std::string separator = " where ";
    for (const auto& [symbol, hint] : flow_.hints) {
      if (number_of(symbol)) continue;
      text += fmt::format("{}{} = {}", separator, symbol, hint);
      separator = ", ";
    }
    return text + " {\n";
  }

  void block(std::size_t at) {
    const FlowBlock& block = flow_.blocks[at];
    std::string text = fmt::format("block {}", at);
    if (!block.parameters.empty()) text += "(" + declared(block.parameters) + ")";
    if (block.begins_loop) text += " begins a loop";
    if (block.interrupted != kCannotFail) text += fmt::format(", interrupted: exit {}", block.interrupted);
    line(text + ":");
    for (const FlowStep& each : block.steps) line("  " + step(each), each.node.place);
    line("  " + end(block.end), block.end.place);
  }

  std::string step(const FlowStep& step) const {
    const Node& node = step.node;
    std::string text;
    if (!node.is_constant() && number_op_of(*node.op)) {
      text = fmt::format("{} = {} {}", name(node.outputs[0]), op_text(node), operands(node.operands));
      if (!node.attrs.empty()) text += " of " + std::get<std::string>(node.attrs[0]);
    } else {
      text = print_node(types_, node, names_);
    }
    for (std::size_t k = 0; k < step.guards.size(); ++k)
      text += (k == 0 ? " if " : " and ") + to_string(step.guards[k]);
    if (step.exit != kCannotFail) text += fmt::format(" else exit {}", step.exit);
    return text;
  }

  std::string target(const FlowEnd::Target& target) const {
    const std::string text = fmt::format("block {}", target.block);
    return target.arguments.empty() ? text : text + "(" + operands(target.arguments) + ")";
  }
  std::string end(const FlowEnd& end) const {
    switch (end.kind) {
      case FlowEnd::Kind::Jump:
        return "jump " + target(end.then);
      case FlowEnd::Kind::Branch:
        return fmt::format("if {} jump {} else {}", operand(end.condition), target(end.then),
                           target(end.other));
      case FlowEnd::Kind::Leave:
        break;
    }
    return fmt::format("leave by exit {}", end.exit);
  }

  const FlowGraph& flow_;
  std::vector<std::string> names_;
  Graph types_;  // of the values, for the text of nodes
  std::vector<CommentedLine> lines_;
};

}  // namespace

std::vector<std::string> flow_value_names(const FlowGraph& flow) {
  std::vector<std::string> names;
  for (std::size_t id = 0; id < flow.values.size(); ++id) {
    const Value& value = flow.values[id];
    if (value.type.is_number) {
      names.push_back(symbol_of(static_cast<ValueId>(id)));
    } else {
      names.push_back(value.name.empty() ? fmt::format("%{}", id) : fmt::format("%{}.{}", value.name, id));
    }
  }
  return names;
}

std::string to_string(const FlowGraph& flow) { return Printer(flow).text(); }

}  // namespace kiln::jit
