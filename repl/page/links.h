// Owns small lists of lines.
#pragma once

#include <algorithm>

#include "repl/page/tables.h"

namespace kiln::repl {

inline void add_link(std::vector<LineId>& links, LineId to) {
  if (std::ranges::find(links, to) == links.end()) links.push_back(to);
}

inline void add_links(std::vector<LineId>& links, const std::vector<LineId>& to) {
  for (const LineId each : to) add_link(links, each);
}

// The lines of the nodes that a node comes from.
std::vector<LineId> lines_of_lineage(const jit::Node& node, const Ancestry& from);

}  // namespace kiln::repl
