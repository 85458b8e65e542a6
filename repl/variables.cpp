#include "repl/variables.h"

#include <algorithm>
#include <set>

#include "repl/entry_log.h"
#include "tensor/autograd.h"
#include "tensor/interrupt.h"

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

class Holder {
 public:
  void visit(const Value& value) {
    if (value.is(Tag::Tensor)) return add(value.as_tensor());
    if (value.tag() < interp::kFirstCounted || !seen_.insert(value.object()).second) return;
    switch (value.tag()) {
      case Tag::List:
        return visit_all(value.as<interp::List>().items);
      case Tag::Tuple:
        return visit_all(value.as<interp::Tuple>().items);
      case Tag::Instance:
        visit_all(value.as<interp::Instance>().fields);
        for (const auto& [name, field] : value.as<interp::Instance>().extra) visit(field);
        return;
      case Tag::Dict:
        for (const interp::Dict::Entry& each : value.as<interp::Dict>().entries()) {
          if (each.live) visit(each.value);
        }
        return;
      default:
        return;
    }
  }
  std::vector<Tensor> found;

 private:
  template <class Values>
  void visit_all(const Values& values) {
    for (const Value& each : values) {
      check_interrupt();
      visit(each);
    }
  }
  void add(const Tensor& x) {
    if (!tensors_.insert(x.impl()).second) return;
    found.push_back(x);
    if (const Tensor gradient = grad_of(x)) add(gradient);
  }

  std::set<const void*> seen_;
  std::set<const TensorImpl*> tensors_;
};

}  // namespace

std::int64_t memory_of(const std::vector<Tensor>& tensors) {
  std::set<std::uint64_t> storages;
  std::int64_t bytes = 0;
  for (const Tensor& each : tensors) {
    check_interrupt();
    if (!each.is_number() && storages.insert(each.storage()->id()).second)
      bytes += static_cast<std::int64_t>(each.storage()->bytes());
  }
  return bytes;
}

std::vector<Tensor> held_tensors(const Value& value) {
  Holder holder;
  holder.visit(value);
  return std::move(holder.found);
}

std::vector<Variable> variables(interp::Interpreter& interpreter) {
  std::vector<Variable> found;
  const interp::Module& main = interpreter.main();
  for (const std::string& name : main.names) {
    const Value* value = main.find(name);
    if (value != nullptr && !is_value_name(name)) found.push_back({name, *value, "", std::nullopt, ""});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (Variable& each : found) {
    each.aliases = aliases_of(found, each);
    if (!each.value.is(Tag::Tensor)) {
      const std::vector<Tensor> held = held_tensors(each.value);
      if (!held.empty()) each.bytes = memory_of(held);
      continue;
    }
    const Tensor tensor = each.value.as_tensor();
    each.device = to_string(tensor.device());
    each.bytes = tensor.numel() * static_cast<std::int64_t>(size_of(tensor.dtype()));
    if (!tensor.is_contiguous()) each.aliases += each.aliases.empty() ? "strided" : "; strided";
  }
  return found;
}

}  // namespace kiln::repl
