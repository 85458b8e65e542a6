// Owns reading what is written behind a command that looks at a call: `:graph f(x, k=2)`.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "repl/command.h"

namespace kiln::repl {

// What is called, and with what.
struct WrittenCall {
  interp::Value function;
  std::vector<interp::Value> positional;
  std::vector<std::pair<std::string_view, interp::Value>> named;  // names point into the session's sources
  bool is_call = true;                                            // else `function` is made of an expression
};

// Evaluates callee and arguments in order, and calls nothing. Any other expression, a method of what is
// computed first (`x.cos().sin()`) and a call of an op, is made a function without arguments; a graph is
// itself. Throws UserError: for nothing, for a function that is only named.
WrittenCall written_call(Session& session, std::string_view command, std::string_view text);

// Does the text name something (`f`, `model.forward`, `layers[0]`), rather than call it?
bool names_function(Session& session, std::string_view command, std::string_view text);

// The function that an expression gives, for commands that look at a function. Throws UserError for others.
interp::Value written_function(Session& session, std::string_view command, std::string_view text);

// "f(x) g(x)" as its two expressions; the second is empty when there is only one. They are apart where blanks
// outside of brackets and strings leave a complete expression on either side.
std::pair<std::string_view, std::string_view> two_expressions(std::string_view text);

// "a | b | c" as its parts, trimmed, apart at each | outside of brackets and strings; one part where there is
// none.
std::vector<std::string_view> alternatives(std::string_view text);

}  // namespace kiln::repl
