// Owns typing at a terminal: entries of several lines, keys, colour, hints, completion. GNU readline is
// inside.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "repl/history.h"

namespace kiln::repl {

// What may replace text[begin, cursor).
struct Completion {
  std::size_t begin = 0;
  std::vector<std::string> candidates;
};

// There is one terminal, so there may be one editor.
class LineEditor {
 public:
  struct Hooks {
    std::function<bool(std::string_view)> is_complete;  // would Enter run it?
    std::function<Completion(std::string_view text, std::size_t cursor)> complete;
  };
  LineEditor(History& history, Hooks hooks);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next entry; "" after Ctrl-C; nothing at the end of input (Ctrl-D).
  std::optional<std::string> read(std::string_view prompt, std::string_view continuation, bool color);

  struct State;

 private:
  State* state_;
};

}  // namespace kiln::repl
