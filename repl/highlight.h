// Owns colour in source text: what class of token gets which colour, and which bracket answers which.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::repl {

// A run of text with one style (a terminal sequence; empty for plain). Runs cover the text without gaps.
struct StyledRun {
  std::size_t begin;
  std::size_t end;
  std::string_view style;
};

// Styles of an entry by token class. Prompt commands (":time e", "?name") have their command word marked.
std::vector<StyledRun> highlight(std::string_view text);

// The bracket at or just before `cursor` and its partner, both as byte offsets; `partner` is npos when there
// is none. `at` is npos when no bracket is near.
struct BracketPair {
  std::size_t at = std::string_view::npos;
  std::size_t partner = std::string_view::npos;
};
BracketPair matching_bracket(std::string_view text, std::size_t cursor);

// Source text with colour sequences in it.
std::string colored_source(std::string_view text);

}  // namespace kiln::repl
