// The value that stands for either of two.
#include <algorithm>

#include "interpreter/check/heap.h"
#include "interpreter/values/unknown.h"
#include "tensor/autograd.h"

namespace kiln::interp::check {

Value Join::changed(Value result) {
  changed_ = true;
  return result;
}

Value Join::join(const Value& a, const Value& b) {
  if (identical(a, b) || (is_unknown(a) && is_unknown(b))) return a;
  if (is_unknown(a)) return a;
  if (a.tag() != b.tag() || is_unknown(b)) return changed(unknown_value());
  switch (a.tag()) {
    case Tag::Tensor:
      return join_tensors(a, b);
    case Tag::Str:
      return a.as<Str>().text == b.as<Str>().text ? a : changed(unknown_value());
    case Tag::Function:
      if (a.as<Function>().code == b.as<Function>().code && a.as<Function>().captures.empty() &&
          a.as<Function>().defaults.empty())
        return a;
      return changed(unknown_value());
    case Tag::List:
    case Tag::Tuple:
    case Tag::Instance:
    case Tag::Cell:
      return join_objects(a, b);
    default:
      return changed(unknown_value());
  }
}

// Of two tensors of one type without elements, either does: nothing else is known of them.
Value Join::join_tensors(const Value& a, const Value& b) {
  const kiln::Tensor& x = a.tensor();
  const kiln::Tensor& y = b.tensor();
  const bool same_type = x.dtype() == y.dtype() && x.device() == y.device() &&
                         x.sizes().size() == y.sizes().size() &&
                         std::equal(x.sizes().begin(), x.sizes().end(), y.sizes().begin(),
                                    [](kiln::Dim p, kiln::Dim q) { return same(p, q); });
  if (!same_type || kiln::requires_grad(x) != kiln::requires_grad(y)) return changed(unknown_value());
  if (!x.has_elements()) return a;
  if (kiln::requires_grad(x)) return changed(unknown_value());
  return changed(Value(kiln::Tensor::without_elements(x.sizes(), x.dtype(), x.device())));
}

bool Join::join_all(std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = join(a[k], b[k]);
  return true;
}

// Two objects, each made on one of the ways. The same two are joined to one.
Value Join::join_objects(const Value& a, const Value& b) {
  if (unknown_.contains(a)) return a;
  if (unknown_.contains(b)) return changed(unknown_value());
  const auto known = made_.find(a.object());
  if (known != made_.end()) {
    return known->second.first == b.object() ? known->second.second : changed(unknown_value());
  }
  made_.emplace(a.object(), std::pair(static_cast<const Object*>(b.object()), a));
  const bool before = std::exchange(changed_, false);
  Value result = a;
  switch (a.tag()) {
    case Tag::List: {
      std::vector<Value> items = a.as<List>().items;
      if (!join_all(items, b.as<List>().items)) return changed(unknown_value());
      if (changed_) result = make<List>(std::move(items));
      break;
    }
    case Tag::Tuple: {
      std::vector<Value> items = a.as<Tuple>().items;
      if (!join_all(items, b.as<Tuple>().items)) return changed(unknown_value());
      if (!changed_) break;
      result = make<Tuple>(std::move(items));
      result.as<Tuple>().names = a.as<Tuple>().names;
      break;
    }
    case Tag::Cell: {
      Value value = join(a.as<Cell>().value, b.as<Cell>().value);
      if (!changed_) break;
      result = make<Cell>();
      result.as<Cell>().value = std::move(value);
      break;
    }
    default: {
      const auto& x = a.as<Instance>();
      const auto& y = b.as<Instance>();
      std::vector<Value> fields = x.fields;
      if (!identical(x.type, y.type) || !x.extra.empty() || !y.extra.empty() || !join_all(fields, y.fields))
        return changed(unknown_value());
      if (!changed_) break;
      result = make<Instance>(x.type);
      result.as<Instance>().fields = std::move(fields);
    }
  }
  made_[a.object()].second = result;
  changed_ = changed_ || before;
  return result;
}

}  // namespace kiln::interp::check
