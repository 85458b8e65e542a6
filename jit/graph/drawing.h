// Owns what a picture of a graph has, in whatever language it is written: boxes, and arrows between them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

struct Box {
  std::string id;  // "n3"
  bool is_node = false;
  std::string label;
  std::string tip{};  // what a pointer on it tells: the node's line and place
};

enum class ArrowStyle : std::uint8_t { Use, Write, Save };

struct Arrow {
  std::string from, to;  // ids of boxes
  std::string type;      // of what goes along it
  ArrowStyle style = ArrowStyle::Use;
};

using DrawingPart = std::variant<Box, Arrow>;

// In the order of the graph: a box for each input and node, an arrow for each use, then what is returned,
// written and saved.
std::vector<DrawingPart> drawing_of(const Graph& graph);

}  // namespace kiln::jit
