#include "repl/variables.h"

#include <algorithm>

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;

// What a variable is the same as (`is`) or shares elements with: "is y", "shares x".
std::string aliases_of(const std::vector<Variable>& all, const Variable& variable) {
  std::string text;
  const Value& a = variable.value;
  if (a.tag() < interp::kFirstCounted) return text;
  for (const Variable& other : all) {
    const Value& b = other.value;
    if (&other == &variable || a.tag() != b.tag()) continue;
    const bool same = identical(a, b);
    const bool shares = !same && a.is(Tag::Tensor) && shares_storage(a.as_tensor(), b.as_tensor());
    if (same || shares)
      text += (text.empty() ? "" : ", ") + std::string(same ? "is " : "shares ") + other.name;
  }
  return text;
}

}  // namespace

std::vector<Variable> variables(interp::Interpreter& interpreter) {
  std::vector<Variable> found;
  const interp::Module& main = interpreter.main();
  for (const std::string& name : main.names) {
    const Value* value = main.find(name);
    if (value != nullptr && name != "_") found.push_back({name, *value, "", std::nullopt, ""});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (Variable& each : found) {
    each.aliases = aliases_of(found, each);
    if (!each.value.is(Tag::Tensor)) continue;
    const Tensor tensor = each.value.as_tensor();
    each.device = to_string(tensor.device());
    each.bytes = tensor.numel() * static_cast<std::int64_t>(size_of(tensor.dtype()));
    if (!tensor.is_contiguous()) each.aliases += each.aliases.empty() ? "strided" : "; strided";
  }
  return found;
}

}  // namespace kiln::repl
