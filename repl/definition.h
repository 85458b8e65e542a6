// Owns the way from a function or struct back to the text that defined it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interpreter/values/objects.h"
#include "repl/documentation.h"

namespace kiln::repl {

// "fn attend(q: f32[b, t, d], scale: float = 1.0) -> f32[b, t, d]", as written, without its body.
std::string signature_of(const interp::Value& function);
// The call that makes a struct: the parameters of `init` without `self`.
std::string constructor_signature(const std::string& name, const interp::Value& init);
Page function_page(const std::string& name, const interp::Value& function);
// The same of a function of which there is the text alone.
Page function_page(const std::string& name, const lang::FunctionExpr& syntax);

// The syntax of a function of a program or of the library; null for other values.
const lang::FunctionExpr* syntax_of(const interp::Value& value);

// Names of a function's parameters, in order.
std::vector<std::string> parameter_names(const interp::Value& function);

// The text of a definition, with its `##` lines, and where it is. Nothing for host functions.
struct Definition {
  std::string text;
  std::string file;
  std::uint32_t line;
};
std::optional<Definition> definition_of(const interp::Value& value);

}  // namespace kiln::repl
