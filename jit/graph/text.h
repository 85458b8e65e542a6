// Owns the text of graphs: printing is deterministic, and reading it back gives an equal graph.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

// Bodies of functions with derivatives of their own come before what applies them, as do the flow graphs of
// loops.
std::string print_graph(const Graph& graph);
// One node as its line in the text, without the place.
std::string print_node(const Graph& graph, const Node& node, std::span<const std::string> names);
// An effect as its line in the text.
std::string print_effect(const Graph& graph, const Effect& effect);
// The graph's name and inputs: "f(%x: f32[n]) where n = 3".
std::string print_signature(const Graph& graph);
// An op with its attributes: "slice(dim=0, start=1)"; behind `operands`, if there are any.
std::string application_text(const Op& op, const std::vector<Attr>& attrs, std::string operands = "");
// "demo.kiln:2:12", with "grad of %b, " before it for a backward node, "recomputes %a, " for one that is its
// own origin; empty when nothing is known.
std::string place_text(const Graph& graph, const Node& node);

// Lines, each with what is said of it behind a `#`: in one column, but for those behind long lines.
struct CommentedLine {
  std::string text;
  std::string comment;
};
std::string align_comments(const std::vector<CommentedLine>& lines);

// Throws OpError (Syntax) with line, column and what was expected. Constants too large to be spelled are
// found by their digest among `constants`.
Graph parse_graph(std::string_view text, Inputs constants = {});

// Constants of up to this many elements are spelled in the text.
inline constexpr std::int64_t kSpelledElements = 16;
std::string digest(const Tensor& constant);  // 16 hexadecimal digits of type and elements

}  // namespace kiln::jit
