// Owns what may follow at a place in a text: names, methods, fields, keyword arguments and their values,
// keys, files, modules, commands and their words. Knows no terminal: the prompt's Tab and other editors ask
// the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "repl/line_editor.h"
#include "repl/session.h"

namespace kiln::repl {

struct Candidate {
  std::string text;    // what replaces the word at the cursor
  std::string kind;    // "method", "field", "function", "argument", "key", "file", …
  std::string detail;  // its type or signature, "" where there is none to tell
};

// What may replace text[begin, cursor), best first.
struct Candidates {
  std::size_t begin = 0;
  std::vector<Candidate> all;
};

// Those that begin with the word at the cursor; where there are none, those nearest to it. Types are worked
// out without running any function of the program. Never throws for a text, whatever is in it.
Candidates candidates(Session& session, std::string_view text, std::size_t cursor);

// The same as texts alone, for the line editor.
Completion complete(Session& session, std::string_view text, std::size_t cursor);

}  // namespace kiln::repl
