// Owns looking into active calls: their lines, their variables, expressions in them.
#pragma once

#include <string_view>
#include <vector>

#include "interpreter/vm/kept_frames.h"
#include "repl/session.h"

namespace kiln::repl {

class Debugger {
 public:
  // Stands at the innermost call that is of the program.
  explicit Debugger(std::vector<interp::KeptFrame> frames);

  // All calls with their lines, the one that it stands at marked, and the variables of that.
  void show(Session& session) const;
  // `up`, `down`, or a number goes to another call; anything else runs there, and its value is printed.
  // Throws UserError.
  void take(Session& session, std::string_view text);

 private:
  void go_to(std::size_t frame);
  bool is_shown(std::size_t frame) const;
  void show_variables(Session& session) const;

  std::vector<interp::KeptFrame> frames_;  // innermost first
  std::size_t at_ = 0;
};

// What `breakpoint()` does: shows where it is and takes lines from standard input until `c`, or the end of
// input, goes on; `q` ends the program with an error.
void stop_at_breakpoint(Session& session);

}  // namespace kiln::repl
