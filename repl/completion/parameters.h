// Owns what is known of a function's parameters from itself alone: their names, and the words that each
// takes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "repl/session.h"

namespace kiln::repl {

// What a parameter may be given, as far as its function says so.
enum class Takes { Anything, Bool, DType, Device, File };

struct CallParameter {
  std::string name;
  std::string detail;  // "keepdim: bool = false"
  Takes takes = Takes::Anything;
};

// The parameters of anything that can be called, in order, without `self`: a function, an op with all of its
// forms, a struct that it makes, a type. Empty for other values.
std::vector<CallParameter> call_parameters(const interp::Value& callee);
// The same of an op by its name, `x.sum(…)` for one without the operand before the point.
std::vector<CallParameter> op_parameters(std::string_view name, bool is_method);

// The call that a place in a text is in: what is called, as it is written, its parameters, and the one that
// the argument at the place is for.
struct CallHint {
  std::string callee;
  std::vector<CallParameter> parameters;
  std::optional<std::size_t> active;  // nothing: beyond them, or by a name that there is not
};
// Nothing outside of calls, and where it is not known what is called. Runs no function of the program.
std::optional<CallHint> call_hint(Session& session, std::string_view text, std::size_t cursor);

// The words that a parameter takes: of an op what its signature lists; of a function of the library or the
// program those texts that it compares the parameter with, itself or in what it hands it on to.
std::vector<std::string> choices(Session& session, const interp::Value& callee, std::string_view parameter);
std::vector<std::string> op_choices(std::string_view op, std::string_view parameter);

}  // namespace kiln::repl
