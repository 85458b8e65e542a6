// The signature of a function as it was written.
#include <string>

#include <fmt/format.h>

#include "interpreter/text/print_tensor.h"
#include "interpreter/values/code.h"

namespace kiln::interp {

std::string function_name(const Function& function) {
  return function.code->name.empty() ? "fn" : function.code->name;
}

std::string function_documentation(const Function& function) {
  const lang::FunctionExpr* written = function.code->function;
  return written ? std::string(written->documentation) : "";
}

std::string function_text(const Function& function) {
  std::string parameters;
  const lang::FunctionExpr* written = function.code->function;
  if (!written) return function_name(function) + "()";
  for (const lang::Parameter& parameter : written->parameters) {
    if (!parameters.empty()) parameters += ", ";
    if (parameter.kind == lang::Parameter::Kind::Star) parameters += "*";
    if (parameter.kind == lang::Parameter::Kind::DoubleStar) parameters += "**";
    parameters += parameter.name;
    if (parameter.annotation) parameters += fmt::format(": {}", parameter.annotation->span.text());
    if (parameter.default_value) {
      parameters +=
          fmt::format("{}{}", parameter.annotation ? " = " : "=", parameter.default_value->span.text());
    }
  }
  return fmt::format("{}({})", function_name(function), parameters);
}

}  // namespace kiln::interp
