// Owns the outline of a program: its functions, structs with their fields and methods, and variables.
#pragma once

#include <string>
#include <vector>

#include "editor/document.h"

namespace kiln::editor {

// Numbered as in the protocol.
enum class OutlineKind : int { Class = 5, Method = 6, Field = 8, Function = 12, Variable = 13 };

struct OutlineItem {
  std::string name;
  std::string detail;  // the signature of a function
  OutlineKind kind;
  lang::Span whole;
  lang::Span name_span;
  std::vector<OutlineItem> children;
};

std::vector<OutlineItem> outline(const Analysis& analysis);
Json outline_json(const std::vector<OutlineItem>& items, const Text& text, Encoding encoding);

}  // namespace kiln::editor
