#include "interpreter/capture/guard.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "interpreter/text/plain_text.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/values/natives.h"
#include "tensor/autocast.h"
#include "tensor/autograd.h"
#include "tensor/collective.h"
#include "tensor/fast_math.h"
#include "tensor/levels/level.h"
#include "tensor/tape/freed_histories.h"
#include "tensor/view.h"

namespace kiln::interp::capture {
namespace {

// The order of dimensions by stride when the elements have no gaps between them; nullopt otherwise.
std::optional<Dims> dense_order(const Dims& sizes, const Dims& strides) {
  Dims order;
  for (std::size_t d = 0; d < sizes.size(); ++d) order.push_back(static_cast<Dim>(d));
  std::stable_sort(order.begin(), order.end(), [&](Dim a, Dim b) {
    return strides[static_cast<std::size_t>(a)] > strides[static_cast<std::size_t>(b)];
  });
  Dim expected = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    const auto d = static_cast<std::size_t>(order[k]);
    if (sizes[d] == 1) continue;
    if (strides[d] != expected) return std::nullopt;
    expected *= sizes[d];
  }
  return order;
}

BaseHistory base_history_of(const Tensor& x) {
  const ViewOrigin* const origin = x.impl()->origin.get();
  const Tensor& base = origin != nullptr ? base_of(*origin) : x;
  if (!kiln::requires_grad(base)) return BaseHistory::None;
  return kiln::is_leaf(base) ? BaseHistory::Leaf : BaseHistory::Computed;
}

std::string base_text(BaseHistory base) {
  switch (base) {
    case BaseHistory::None:
      return "nothing that requires grad";
    case BaseHistory::Computed:
      return "what has a history, or a view of it";
    case BaseHistory::Leaf:
      return "a leaf that requires grad, or a view of one";
  }
  return "";
}

std::string layout_text(bool contiguous, const Dims& strides) {
  return contiguous ? "contiguous" : "strides " + to_string(strides);
}

}  // namespace

std::vector<int> memory_groups(const std::vector<const TensorImpl*>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto memory_of = [&](std::size_t i) { return tensors[i]->storage.get(); };
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return std::tuple(memory_of(i), tensors[i], i) < std::tuple(memory_of(j), tensors[j], j);
  });
  std::vector<int> groups(tensors.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && memory_of(order[end]) == memory_of(order[begin])) ++end;
    const auto group = std::span(order).subspan(begin, end - begin);
    const std::size_t first = *std::min_element(group.begin(), group.end());
    for (std::size_t k = 0; k < group.size(); ++k) {
      if (k > 0 && tensors[group[k]] == tensors[group[k - 1]]) return {};
      groups[group[k]] = static_cast<int>(first);
    }
  }
  return groups;
}

TensorGuard TensorGuard::of(const Tensor& x) {
  TensorGuard guard;
  guard.dtype = x.dtype();
  guard.device = x.device();
  guard.sizes = x.sizes();
  guard.strides = x.strides();
  guard.contiguous = x.is_contiguous();
  guard.offset = x.offset();
  guard.requires_grad = kiln::requires_grad(x);
  guard.base = base_history_of(x);
  guard.is_number = x.is_number();
  if (guard.requires_grad) guard.hooks = tape::hooks_of_leaf(x).value_or(std::vector<int>());
  return guard;
}

namespace {

// Is it of the innermost transform, and a view from outside of it or none; or of no transform at all?
bool is_of_transform(const Tensor& x, std::optional<bool> captured) {
  const Wrapper* const wrapper = levels::wrapper_of(x);
  if (wrapper == nullptr || !captured) return (wrapper == nullptr) == !captured;
  return levels::top != nullptr && wrapper->level == levels::top->id() && wrapper->captured == *captured;
}

}  // namespace

bool TensorGuard::holds(const Tensor& x, Numbers& numbers) const {
  const TensorImpl& impl = *x.impl();
  if (!symbols.empty()) {
    if (impl.layout.sizes.size() != sizes.size()) return false;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const Dim now = impl.layout.sizes[d];
      if (symbols[d] < 0 ? now != sizes[d]
                         : now < 2 || numbers.symbol(static_cast<std::size_t>(symbols[d])) != now)
        return false;
    }
  } else if (impl.layout.sizes != sizes) {
    return false;
  }
  if (impl.dtype != dtype || impl.contiguous != contiguous || !is_of_transform(x, captured) ||
      impl.is_number != is_number || x.device() != device || kiln::requires_grad(x) != requires_grad) {
    return false;
  }
  if (plain_leaf && !tape::is_leaf_with(x, hooks)) return false;
  if (base && base_history_of(x) != *base) return false;
  if (parameter && kiln::is_parameter(x) != *parameter) return false;
  if (exact_strides && impl.layout.offset != offset) return false;
  if (same_strides && impl.layout.strides != strides) return false;
  if (contiguous) return !row_major || is_row_major(impl.layout);
  if (exact_strides) return impl.layout.strides == strides;
  return impl.layout.strides == strides ||
         dense_order(sizes, impl.layout.strides) == dense_order(sizes, strides);
}

TensorGuard::Difference TensorGuard::difference(const Tensor& x) const {
  const auto type_text = [](DType t, const Dims& s) { return std::string(name(t)) + to_string(s); };
  if (x.dtype() != dtype) return {".dtype", std::string(name(dtype)), std::string(name(x.dtype()))};
  if (static_cast<std::size_t>(x.rank()) != sizes.size())
    return {".ndim", std::to_string(sizes.size()), std::to_string(x.rank())};
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (x.sizes()[d] != sizes[d])
      return {fmt::format(".size({})", d), std::to_string(sizes[d]), std::to_string(x.sizes()[d])};
  }
  const bool needs = kiln::requires_grad(x);
  if (needs != requires_grad)
    return {".requires_grad", requires_grad ? "true" : "false", needs ? "true" : "false"};
  if (!is_of_transform(x, captured))
    return {"", captured ? "a tensor of the transform" : "a plain tensor", "another"};
  if (plain_leaf && !tape::is_leaf_with(x, hooks))
    return {"", hooks.empty() ? "a leaf without hooks" : "a leaf with other hooks", "none"};
  if (base && base_history_of(x) != *base) return {"", base_text(*base), base_text(base_history_of(x))};
  if (parameter && kiln::is_parameter(x) != *parameter)
    return {"", *parameter ? "a parameter" : "no parameter", *parameter ? "none" : "one"};
  if (x.is_contiguous() != contiguous || x.strides() != strides)
    return {".stride()", layout_text(contiguous, strides), layout_text(x.is_contiguous(), x.strides())};
  if (x.offset() != offset) return {".storage_offset()", std::to_string(offset), std::to_string(x.offset())};
  return {"", type_text(dtype, sizes), type_text(x.dtype(), x.sizes())};
}

namespace {

bool equal_values(const Value& a, const Value& b) {
  if (a.tag() != b.tag()) return false;
  if (a.is(Tag::Str)) return a.object() == b.object() || a.as<Str>().text == b.as<Str>().text;
  if (a.is(Tag::Range)) {
    const Range& x = a.as<Range>();
    const Range& y = b.as<Range>();
    return x.start == y.start && x.stop == y.stop && x.step == y.step;
  }
  if (a.is(Tag::Complex)) return same_complex_bits(a.as<ComplexNumber>(), b.as<ComplexNumber>());
  return identical(a, b);
}

std::int64_t length_of(const Value& v) {
  switch (v.tag()) {
    case Tag::List:
      return static_cast<std::int64_t>(v.as<List>().items.size());
    case Tag::Tuple:
      return static_cast<std::int64_t>(v.as<Tuple>().items.size());
    case Tag::Dict:
    case Tag::Set:
      return static_cast<std::int64_t>(v.as<Dict>().size());
    default:
      return -1;
  }
}

// Is v of the type of `like`? Tuples must have the same names of items, too, as results of some ops have.
bool is_alike(const Value& v, const Value& like) {
  if (v.tag() != like.tag()) return false;
  return !v.is(Tag::Tuple) || v.as<Tuple>().names == like.as<Tuple>().names;
}

bool has_keys(const Dict& dict, const std::vector<Value>& keys) {
  if (dict.size() != keys.size()) return false;
  std::size_t at = 0;
  for (const Dict::Entry& each : dict.entries()) {
    if (each.live && !equal_values(each.key, keys[at++])) return false;
  }
  return true;
}

bool has_extras(const Instance& instance, const std::vector<Value>& names) {
  return std::equal(instance.extra.begin(), instance.extra.end(), names.begin(), names.end(),
                    [](const auto& extra, const Value& name) { return extra.first == name.as<Str>().text; });
}

bool share_memory_as(const std::vector<SourceId>& tensors, const std::vector<int>& groups,
                     SourceValues& found) {
  std::vector<const TensorImpl*> now;
  for (const SourceId each : tensors) {
    const Value* v = found[each];
    if (v == nullptr || !v->is(Tag::Tensor)) return false;
    now.push_back(v->tensor_impl());
  }
  return memory_groups(now) == groups;
}

bool are_apart(const std::vector<SourceId>& objects, SourceValues& found) {
  std::vector<const void*> now;
  for (const SourceId each : objects) {
    const Value* v = found[each];
    if (v == nullptr || !v->is_counted()) return false;
    now.push_back(v->is(Tag::Tensor) ? static_cast<const void*>(v->tensor_impl()) : v->object());
  }
  std::sort(now.begin(), now.end());
  return std::adjacent_find(now.begin(), now.end()) == now.end();
}

// Of what `modes_number` gives.
bool has_fast_math(std::int64_t modes) { return modes % 2 != 0; }
std::int64_t autocast_state(std::int64_t modes) { return modes / 2; }
std::string autocast_text(std::int64_t modes) {
  const std::optional<DType> low = autocast::dtype_of(autocast_state(modes));
  return low ? "autocast(" + std::string(name(*low)) + ")" : "off";
}

std::string short_text(const Value& v) {
  if (std::optional<std::string> plain = repr_of_plain(v)) return *std::move(plain);
  switch (v.tag()) {
    case Tag::Unset:
      return "not assigned";
    case Tag::Str:
      return "\"" + v.as<Str>().text + "\"";
    case Tag::Function: {
      const std::string& name = v.as<Function>().code->name;
      return name.empty() ? "a function" : "`" + name + "`";
    }
    default:
      return describe(v);
  }
}

std::string keys_text(const std::vector<Value>& keys) {
  std::string text;
  for (const Value& each : keys) text += (text.empty() ? "" : ", ") + short_text(each);
  return "[" + text + "]";
}

}  // namespace

std::int64_t modes_number() { return autocast::state() * 2 + (fast_math() ? 1 : 0); }

bool Guard::holds(SourceValues& found, Numbers& numbers) const {
  switch (kind) {
    case Kind::Modes:
      return grad_enabled() == value.as_bool() && modes_number() == number;
    case Kind::Membership:
      return membership_version() == static_cast<std::uint64_t>(number);
    case Kind::SameMemory:
      return share_memory_as(members, groups, found);
    case Kind::Apart:
      return are_apart(members, found);
    case Kind::Computed:
      return equal_values(numbers[static_cast<ExprId>(number)], value);
    default:
      break;
  }
  const Value* v = found[source];
  if (kind == Kind::Present) return (v != nullptr && !v->is_unset()) == value.as_bool();
  if (v == nullptr) return false;
  switch (kind) {
    case Kind::Equal:
      return equal_values(*v, value);
    case Kind::Identical:
      return identical(*v, value);
    case Kind::Same:
    case Kind::Different: {
      const Value* w = found[other];
      return w != nullptr && identical(*v, *w) == (kind == Kind::Same);
    }
    case Kind::Tag:
      return is_alike(*v, value);
    case Kind::Struct:
      return v->is(interp::Tag::Instance) && identical(v->as<Instance>().type, value);
    case Kind::Code:
      return v->is(interp::Tag::Function) && v->as<Function>().code == value.as<Function>().code;
    case Kind::Length:
      return length_of(*v) == number;
    case Kind::Iterator:
      return v->is(interp::Tag::Iterator) && static_cast<std::int64_t>(v->as<Iterator>().form) == number &&
             v->as<Iterator>().parts.size() == static_cast<std::size_t>(other);
    case Kind::Keys:
      return is_dict_or_set(*v) && has_keys(v->as<Dict>(), value.as<Tuple>().items);
    case Kind::Extras:
      return v->is(interp::Tag::Instance) && has_extras(v->as<Instance>(), value.as<Tuple>().items);
    case Kind::Tensor:
      return v->is(interp::Tag::Tensor) && tensor.holds(v->tensor(), numbers);
    default:
      return false;
  }
}

std::string Guard::text(const Sources& sources, const Exprs& exprs) const {
  const auto at = [&](SourceId id) { return sources[id].text; };
  switch (kind) {
    case Kind::Modes:
      return std::string(value.as_bool() ? "gradients are recorded" : "gradients are not recorded") +
             (has_fast_math(number) ? ", within fastmath()" : "") +
             (autocast_state(number) != 0 ? ", within " + autocast_text(number) : "");
    case Kind::Membership:
      return "the ranks and their process sets are the same";
    case Kind::SameMemory:
      return "the tensors share memory as they did";
    case Kind::Computed: {
      const std::string text = exprs.text(static_cast<ExprId>(number), sources);
      const std::string asked_by = reason.empty() ? "" : " (" + reason + ")";
      if (!value.is(interp::Tag::Bool)) return text + " == " + short_text(value) + asked_by;
      return (value.as_bool() ? text : "not (" + text + ")") + asked_by;
    }
    case Kind::Apart:
      return "what changes or is told apart is nothing else that is read";
    case Kind::Equal:
      return at(source) + (value.is_unset() ? " is " : " == ") + short_text(value);
    case Kind::Identical:
      return at(source) + " is " + short_text(value);
    case Kind::Same:
      return at(source) + " is " + at(other);
    case Kind::Different:
      return at(source) + " is not " + at(other);
    case Kind::Tag:
      return at(source) + " is a " + std::string(type_name(value));
    case Kind::Struct:
      return at(source) + " is a " + value.as<StructType>().name;
    case Kind::Code:
      return at(source) + " is " + short_text(value);
    case Kind::Length:
      return fmt::format("len({}) == {}", at(source), number);
    case Kind::Iterator:
      return at(source) + " is such an iterator";
    case Kind::Keys:
      return at(source) + " has the keys " + keys_text(value.as<Tuple>().items);
    case Kind::Present:
      return at(source) + (value.as_bool() ? " is assigned" : " is not assigned");
    case Kind::Extras:
      return at(source) + (value.as<Tuple>().items.empty()
                               ? " has no further fields"
                               : " has the further fields " + keys_text(value.as<Tuple>().items));
    case Kind::Tensor: {
      std::string text = fmt::format("{} is {}[", at(source), name(tensor.dtype));
      for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
        const int symbol = tensor.symbols.empty() ? -1 : tensor.symbols[d];
        text += (d == 0 ? "" : ", ") + (symbol < 0 ? std::to_string(tensor.sizes[d])
                                                   : exprs.symbols[static_cast<std::size_t>(symbol)].name);
      }
      text += "]";
      if (!tensor.contiguous) text += ", " + layout_text(false, tensor.strides);
      if (tensor.requires_grad) text += ", requires_grad";
      if (tensor.parameter) text += *tensor.parameter ? ", a parameter" : ", no parameter";
      return text;
    }
  }
  return "";
}

TensorGuard::Difference Guard::difference(const Sources& sources, const Exprs& exprs,
                                          SourceValues& found) const {
  const auto truth = [](bool flag) { return flag ? "true" : "false"; };
  if (kind == Kind::Modes && fast_math() != has_fast_math(number))
    return {"within fastmath()", truth(has_fast_math(number)), truth(fast_math())};
  if (kind == Kind::Modes && modes_number() != number)
    return {"autocast", autocast_text(number), autocast_text(modes_number())};
  if (kind == Kind::Modes) return {"gradients are recorded", truth(value.as_bool()), truth(!value.as_bool())};
  if (kind == Kind::Membership) return {"the ranks and their process sets", "as captured", "others"};
  if (kind == Kind::SameMemory) return {"which tensors share memory", "as captured", "otherwise"};
  if (kind == Kind::Computed) return {text(sources, exprs), "true", "false"};
  if (kind == Kind::Apart)
    return {"what changes or is told apart is nothing else that is read", "true", "false"};
  const std::string& where = sources[source].text;
  const Value* v = found[source];
  if (kind == Kind::Present)
    return {where, value.as_bool() ? "assigned" : "not assigned",
            value.as_bool() ? "not assigned" : "assigned"};
  if (v == nullptr) return {where, kind == Kind::Equal ? short_text(value) : "present", "absent"};
  switch (kind) {
    case Kind::Same:
    case Kind::Different:
      return {where + " is " + sources[other].text, kind == Kind::Same ? "true" : "false",
              kind == Kind::Same ? "false" : "true"};
    case Kind::Length:
      return {"len(" + where + ")", std::to_string(number), std::to_string(length_of(*v))};
    case Kind::Keys: {
      std::vector<Value> now;
      if (!is_dict_or_set(*v)) return {where, "a dict or a set", short_text(*v)};
      for (const Dict::Entry& each : v->as<Dict>().entries()) {
        if (each.live) now.push_back(each.key);
      }
      return {"list(" + where + ")", keys_text(value.as<Tuple>().items), keys_text(now)};
    }
    case Kind::Extras: {
      std::vector<Value> now;
      if (!v->is(interp::Tag::Instance)) return {where, "a struct", short_text(*v)};
      for (const auto& [name, each] : v->as<Instance>().extra) now.emplace_back(name);
      return {"further fields of " + where, keys_text(value.as<Tuple>().items), keys_text(now)};
    }
    case Kind::Tensor: {
      if (!v->is(interp::Tag::Tensor))
        return {where, std::string(name(tensor.dtype)) + to_string(tensor.sizes), short_text(*v)};
      TensorGuard::Difference difference = tensor.difference(v->tensor());
      difference.what = where + difference.what;
      return difference;
    }
    case Kind::Struct:
      return {where, value.as<StructType>().name, short_text(*v)};
    default:
      return {where, short_text(value), short_text(*v)};
  }
}

}  // namespace kiln::interp::capture
