// Owns lines of text about a graph's kernels with what each of them is about, so that views can link them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln::jit {

struct CodeLine {
  std::string text{};  // without the newline
  int kernel = -1;     // of the graph; -1: of none
  int pass = -1;       // of the kernel's nests, and
  int line = -1;       // its line (jit/loops/loops.h); -1: of the kernel as a whole
  // Of the graph that the text names nodes of: those that it is about.
  std::vector<int> nodes{};
};
using CodeLines = std::vector<CodeLine>;

std::string text_of(const CodeLines& lines);
// Without empty lines at the end.
CodeLines lines_of(std::string_view text);

}  // namespace kiln::jit
