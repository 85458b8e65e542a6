#include "interpreter/vm/parameters.h"

#include <unordered_set>

#include "tensor/autograd.h"

namespace kiln::interp {
namespace {

// Finds the leaves that require gradients in a value, and in the lists, tuples and dicts within it.
class LeafSearch {
 public:
  // Calls `f(tensor)` for each; ends when it gives true, and says whether it did.
  template <class F>
  bool any(const Value& value, const F& f) {
    switch (value.tag()) {
      case Tag::Tensor: {
        const kiln::Tensor& x = value.as_tensor();
        return kiln::is_leaf(x) && kiln::requires_grad(x) && f(x);
      }
      case Tag::List:
        return is_new(value) && any_of(value.as<List>().items, f);
      case Tag::Tuple:
        return is_new(value) && any_of(value.as<Tuple>().items, f);
      case Tag::Dict:
        if (!is_new(value)) return false;
        for (const Dict::Entry& entry : value.as<Dict>().entries()) {
          if (entry.live && any(entry.value, f)) return true;
        }
        return false;
      default:
        return false;
    }
  }

 private:
  template <class F>
  bool any_of(const std::vector<Value>& items, const F& f) {
    for (const Value& each : items) {
      if (each.is_counted() && any(each, f)) return true;
    }
    return false;
  }
  // Containers may hold themselves.
  bool is_new(const Value& container) { return seen_.insert(container.object()).second; }

  std::unordered_set<const Object*> seen_;
};

}  // namespace

void mark_parameters(const Instance& instance) {
  LeafSearch leaves;
  const auto mark = [](const kiln::Tensor& x) {
    kiln::mark_parameter(x);
    return false;
  };
  for (const Value& field : instance.fields) leaves.any(field, mark);
  for (const auto& [name, field] : instance.extra) leaves.any(field, mark);
}

bool holds_trained_leaf(const Value& value) {
  LeafSearch leaves;
  const auto found = [](const kiln::Tensor&) { return true; };
  if (!value.is(Tag::Instance)) return leaves.any(value, found);
  for (const Value& field : value.as<Instance>().fields) {
    if (leaves.any(field, found)) return true;
  }
  return false;
}

}  // namespace kiln::interp
