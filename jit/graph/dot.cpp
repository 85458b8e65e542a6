#include "jit/graph/dot.h"

#include <fmt/format.h>

#include "jit/graph/drawing.h"

namespace kiln::jit {
namespace {

// ---- Graphviz ----

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string in_dot(const Box& box) {
  const std::string tip = box.tip.empty() ? "" : fmt::format(", tooltip={}", quoted(box.tip));
  return fmt::format("  {} [shape={}, label={}{}];\n", box.id, box.is_node ? "box" : "ellipse",
                     quoted(box.label), tip);
}

std::string in_dot(const Arrow& arrow) {
  const std::string_view style = arrow.style == ArrowStyle::Write  ? ", style=dashed"
                                 : arrow.style == ArrowStyle::Save ? ", style=dotted"
                                                                   : "";
  return fmt::format("  {} -> {} [label={}{}];\n", arrow.from, arrow.to, quoted(arrow.type), style);
}

// ---- Mermaid ----

// A text between quotes, whose characters of HTML and Markdown stand as numbers.
std::string escaped(std::string_view text) {
  static constexpr std::string_view kSpecial = "\"#&<>`*_\\";
  std::string result = "\"";
  for (const char c : text) {
    if (kSpecial.find(c) == std::string_view::npos) {
      result += c;
    } else {
      result += fmt::format("#{};", static_cast<int>(c));
    }
  }
  return result + "\"";
}

std::string in_mermaid(const Box& box) {
  const std::string label = escaped(box.label);
  return box.is_node ? fmt::format("  {}[{}]\n", box.id, label) : fmt::format("  {}([{}])\n", box.id, label);
}

std::string in_mermaid(const Arrow& arrow) {
  const std::string_view line = arrow.style == ArrowStyle::Use ? "-->" : "-.->";
  return fmt::format("  {} {}|{}| {}\n", arrow.from, line, escaped(arrow.type), arrow.to);
}

}  // namespace

std::string dot_text(const Graph& graph) {
  std::string text = fmt::format(
      "digraph {} {{\n  rankdir=TB;\n  node [fontname=\"monospace\", fontsize=11];\n"
      "  edge [fontname=\"monospace\", fontsize=9];\n",
      quoted(graph.name));
  for (const DrawingPart& part : drawing_of(graph))
    text += std::visit([](const auto& each) { return in_dot(each); }, part);
  return text + "}\n";
}

std::string mermaid_text(const Graph& graph) {
  std::string text = "flowchart TB\n";
  for (const DrawingPart& part : drawing_of(graph))
    text += std::visit([](const auto& each) { return in_mermaid(each); }, part);
  return text;
}

}  // namespace kiln::jit
