// Owns the page that shows all stages of a call side by side.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interpreter/capture/stages.h"

namespace kiln::repl {

// A column: a stage that is a graph, or text.
struct PageStage {
  std::string name;
  interp::Value made;
};
// The program's text with the place of its first line; without a file there is no column for it.
struct PageSource {
  std::string file;
  int line = 1;
  std::string text;
};

// One self-contained HTML page. A node or source line under the pointer lights what it came from and what
// became of it in every other column.
std::string graph_page(std::string_view title, const PageSource& source,
                       const std::vector<PageStage>& stages);

}  // namespace kiln::repl
