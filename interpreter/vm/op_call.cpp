// From a call as written to an op's inputs and attributes: names, defaults, spread sizes, overloads, host
// numbers.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/interpreter.h"
#include "interpreter/text/print_tensor.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/followed_numbers.h"
#include "interpreter/vm/op_beside.h"
#include "interpreter/vm/op_entry.h"
#include "tensor/delayed_error.h"
#include "tensor/op.h"

namespace kiln::interp {
namespace {

using kiln::ArgKind;
using PositionalArguments = std::span<const Value>;
using NamedArguments = std::span<const std::pair<std::string_view, Value>>;

// Why a form does not take the arguments. `reached` says how many it took, to report the form that came
// closest.
struct Mismatch {
  std::string message;
  std::string help;
  int argument = -1;
  int reached = 0;
  kiln::ErrorKind kind = kiln::ErrorKind::Type;
};

// What a form makes of the arguments. Without attributes in the call the form's defaults serve as they are.
struct BoundArguments {
  kiln::SmallVector<kiln::Tensor, 4> inputs;
  kiln::SmallVector<std::int16_t, 4> argument_of_input;  // -1: not given
  kiln::Attrs attrs;
  bool own_attrs = false;
  bool any_tensor = false;
};

std::string_view wanted(ArgKind kind) {
  switch (kind) {
    case ArgKind::Tensor:
    case ArgKind::OptionalTensor:
      return "a tensor or a number";
    case ArgKind::TensorList:
    case ArgKind::OptionalTensorList:
      return "a list of tensors";
    case ArgKind::Bool:
      return "true or false";
    case ArgKind::Int:
    case ArgKind::Index:
      return "an int";
    case ArgKind::Float:
    case ArgKind::Number:
      return "a number";
    case ArgKind::String:
      return "a str";
    case ArgKind::Dtype:
      return "a dtype such as `f32`";
    case ArgKind::Device:
      return "a device such as \"cpu\"";
    case ArgKind::Ints:
      return "ints, or a list or tuple of ints";
    case ArgKind::Dims:
      return "an int or a tuple of ints";
  }
  return "a value";
}

// A host int, or an integer tensor of one element that stands for one.
bool read_int(const Value& v, kiln::Dim& out) {
  if (v.is(Tag::Int)) {
    out = size_of_number(v);
    return true;
  }
  if (v.is(Tag::Tensor) && v.tensor_impl()->numel == 1 && kiln::is_integer(v.tensor_impl()->dtype)) {
    out = v.as_tensor().item_int();
    return true;
  }
  return false;
}

// With `none_too` an entry may be none, which the op sees as -1.
bool read_ints(const Value& v, kiln::Dims& out, bool none_too) {
  kiln::Dim one = 0;
  if (const auto* items = host::items_of(v)) {
    for (const Value& item : *items) {
      if (none_too && item.is_none()) {
        one = -1;
      } else if (!read_int(item, one)) {
        return false;
      }
      out.push_back(one);
    }
    return true;
  }
  if (!read_int(v, one)) return false;
  out.push_back(one);
  return true;
}

// `fixed`: the op takes the number as it is.
bool read_number(const Value& v, kiln::Attr& out, bool fixed = true) {
  const Value item = v.is(Tag::Tensor) && v.tensor_impl()->numel == 1 ? item_of(v.as_tensor()) : v;
  switch (item.tag()) {
    case Tag::Bool:
      out = item.as_bool();
      return true;
    case Tag::Int:
      out = fixed ? Dim(item.as_int()) : size_of_number(v.is(Tag::Int) ? v : item);
      return true;
    case Tag::Float:
      out = item.as_float();
      return true;
    default:
      return false;
  }
}

bool read_float(const Value& v, kiln::Attr& out) {
  if (!read_number(v, out)) return false;
  if (const auto* i = std::get_if<Dim>(&out)) out = static_cast<double>(*i);
  if (const auto* b = std::get_if<bool>(&out)) out = *b ? 1.0 : 0.0;
  return true;
}

}  // namespace

bool read_attr(const kiln::Op& op, const kiln::Parameter& parameter, const Value& v, kiln::Attr& out) {
  kiln::Dim i = 0;
  switch (parameter.kind) {
    case ArgKind::Bool:
      if (!v.is(Tag::Bool) || !admits(parameter, v.as_bool())) return false;
      out = v.as_bool();
      return true;
    case ArgKind::Int:
      if (!read_int(v, i)) return false;
      out = i;
      return true;
    case ArgKind::Index:  // which dimension it is decides what the op does
      if (!read_int(v, i)) return false;
      out = i.fixed();
      return true;
    case ArgKind::Float:
      return read_float(v, out);
    case ArgKind::Number:
      return read_number(v, out, op.has(kFixesNumbers));
    case ArgKind::String:
      if (!v.is(Tag::Str)) return false;
      out = host::text_of(v);
      return true;
    case ArgKind::Dtype:
      if (v.is(Tag::Tensor)) {  // the dtype of another tensor
        out = v.tensor().dtype();
        return true;
      }
      if (!v.is(Tag::DType) && !v.is(Tag::Type) && !v.is(Tag::Str)) return false;
      out = *host::dtype_argument(v, "dtype");
      return true;
    case ArgKind::Device:
      if (!v.is(Tag::Device) && !v.is(Tag::Str)) return false;
      out = host::device_argument(v, "device");
      return true;
    case ArgKind::Ints:
    case ArgKind::Dims: {
      kiln::Dims dims;
      if (!read_ints(v, dims, !parameter.words.empty())) return false;
      out = std::move(dims);
      return true;
    }
    default:
      return false;
  }
}

namespace {

// Binds one call to one form. Positions first, then names, then defaults.
class Binder {
 public:
  // `tensors_as_numbers`: may a tensor of one element be given for an int or a number?
  Binder(const OpForm& form, std::string_view name, PositionalArguments arguments, NamedArguments named,
         bool tensors_as_numbers, BoundArguments& bound)
      : form_(form),
        name_(name),
        arguments_(arguments),
        named_(named),
        tensors_as_numbers_(tensors_as_numbers),
        bound_(bound) {}

  bool run(Mismatch& mismatch) {
    mismatch_ = &mismatch;
    const auto& parameters = form_.op->signature.parameters;
    bound_.inputs.resize(static_cast<std::size_t>(form_.op->signature.inputs));
    bound_.argument_of_input.resize(bound_.inputs.size(), std::int16_t{-1});
    given_ = 0;
    for (std::size_t p = 0; p < parameters.size() && next_ < arguments_.size(); ++p) {
      if (parameters[p].keyword_only) break;
      if (!take_positional(p)) return false;
    }
    if (next_ < arguments_.size()) return too_many();
    for (std::size_t k = 0; k < named_.size(); ++k) {
      if (!take_named(k)) return false;
    }
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (!(given_ >> p & 1U) && form_.required[p]) return missing(parameters[p]);
    }
    append_list();
    return true;
  }

 private:
  bool fail(std::string message, int argument, std::string help = {}) {
    mismatch_->message = std::move(message);
    mismatch_->help = std::move(help);
    mismatch_->argument = argument;
    mismatch_->reached = static_cast<int>(next_);
    return false;
  }

  bool wrong(const kiln::Parameter& parameter, const Value& got, int argument) {
    std::string help;
    if (host::items_of(got) &&
        (parameter.kind == ArgKind::Tensor || parameter.kind == ArgKind::OptionalTensor)) {
      help = "make a tensor of it with `tensor(…)`";
    }
    return fail(fmt::format("{}: `{}` must be {}, got {}", name_, parameter.name, wanted(parameter.kind),
                            describe(got)),
                argument, std::move(help));
  }

  bool too_many() {
    const auto& parameters = form_.op->signature.parameters;
    const auto most =
        std::count_if(parameters.begin(), parameters.end(), [](const auto& p) { return !p.keyword_only; });
    return fail(fmt::format("{} takes at most {} argument{} by position, got {}", name_, most,
                            most == 1 ? "" : "s", arguments_.size()),
                static_cast<int>(next_), form_.op->signature.text);
  }

  bool missing(const kiln::Parameter& parameter) {
    return fail(fmt::format("{} needs its argument `{}`", name_, parameter.name), -1,
                form_.op->signature.text);
  }

  // Ints may be spread over the call, tensors of a list too; both leave enough for the required parameters
  // after.
  bool take_positional(std::size_t p) {
    const kiln::Parameter& parameter = form_.op->signature.parameters[p];
    const Value& v = arguments_[next_];
    if (parameter.kind == ArgKind::Ints && !host::items_of(v)) return take_spread_ints(p);
    if (form_.is_list[p] && v.is(Tag::Tensor)) return take_spread_tensors(p);
    if (parameter.kind == ArgKind::Dtype && is_device(v)) return take_device(p);
    if (parameter.kind == ArgKind::Dtype && v.is(Tag::Tensor)) take_device_of(v.tensor());
    return take_one(p);
  }

  // In the place of a dtype a tensor says both how and where: `x.to(y)`.
  void take_device_of(const kiln::Tensor& x) {
    const auto& parameters = form_.op->signature.parameters;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (parameters[p].kind != ArgKind::Device || is_named(parameters[p].name)) continue;
      set_attr(p, x.device());
      given_ |= std::uint64_t{1} << p;
    }
  }

  // A device may stand where a dtype is expected: `x.to("cpu")`, `x.to("cpu", f32)`.
  static bool is_device(const Value& v) {
    return v.is(Tag::Device) || (v.is(Tag::Str) && !kiln::dtype_named(host::text_of(v)));
  }
  bool take_device(std::size_t dtype) {
    const auto& parameters = form_.op->signature.parameters;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (parameters[p].kind != ArgKind::Device) continue;
      if (!take_one(p)) return false;
      return next_ == arguments_.size() || take_positional(dtype);
    }
    return wrong(parameters[dtype], arguments_[next_], static_cast<int>(next_));
  }

  bool take_one(std::size_t p) {
    const std::size_t argument = next_;
    if (!give(p, arguments_[argument], static_cast<int>(argument))) return false;
    ++next_;
    return true;
  }

  bool take_spread_ints(std::size_t p) {
    if (arguments_[next_].is_none() && form_.op->signature.parameters[p].optional) {
      return take_one(p);
    }
    std::size_t reserved = 0;
    const auto& parameters = form_.op->signature.parameters;
    for (std::size_t q = p + 1; q < parameters.size() && !parameters[q].keyword_only; ++q) {
      reserved += form_.required[q] && !is_named(parameters[q].name) ? 1 : 0;
    }
    kiln::Dims dims;
    kiln::Dim i = 0;
    while (next_ + reserved < arguments_.size() && read_int(arguments_[next_], i)) {
      dims.push_back(i);
      ++next_;
    }
    if (dims.empty()) return wrong(parameters[p], arguments_[next_], static_cast<int>(next_));
    given_ |= std::uint64_t{1} << p;
    set_attr(p, std::move(dims));
    return true;
  }

  bool take_spread_tensors(std::size_t p) {
    given_ |= std::uint64_t{1} << p;
    for (; next_ < arguments_.size() && arguments_[next_].is(Tag::Tensor); ++next_) {
      list_.push_back(arguments_[next_].as_tensor());
      list_arguments_.push_back(static_cast<std::int16_t>(next_));
    }
    bound_.any_tensor = true;
    return true;
  }

  bool is_named(std::string_view name) const {
    return std::any_of(named_.begin(), named_.end(), [&](const auto& n) { return n.first == name; });
  }

  bool take_named(std::size_t k) {
    const auto& [name, value] = named_[k];
    const auto& parameters = form_.op->signature.parameters;
    const int argument = static_cast<int>(arguments_.size() + k);
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (parameters[p].name != name) continue;
      if (given_ >> p & 1U) return fail(fmt::format("{} got `{}` twice", name_, name), argument);
      if (!give(p, value, argument)) return false;
      ++mismatch_->reached;
      return true;
    }
    return unknown(name, argument);
  }

  bool unknown(std::string_view name, int argument) {
    std::vector<std::string_view> names;
    for (const auto& parameter : form_.op->signature.parameters) names.push_back(parameter.name);
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kElsewhere{
        {{"axis", "dim"},
         {"axes", "dim"},
         {"keepdims", "keepdim"},
         {"input", "x"},
         {"a_min", "min"},
         {"a_max", "max"}}};
    std::string_view near = lang::nearest(name, names);
    for (const auto& [theirs, ours] : kElsewhere) {
      if (theirs == name && std::find(names.begin(), names.end(), ours) != names.end()) near = ours;
    }
    const std::string what = fmt::format("{} has no argument `{}`", name_, name);
    if (name == "requires_grad") return fail(what, argument, "ask it of the result: `.requires_grad_()`");
    return fail(what, argument,
                near.empty() ? form_.op->signature.text : fmt::format("did you mean `{}`?", near));
  }

  // Gives parameter p its value.
  bool give(std::size_t p, const Value& v, int argument) {
    const kiln::Parameter& parameter = form_.op->signature.parameters[p];
    given_ |= std::uint64_t{1} << p;
    if (v.is_none() && parameter.optional) {
      if (form_.attr_index[p] >= 0) set_attr(p, std::monostate{});
      return true;
    }
    if (form_.is_list[p]) return give_list(parameter, v, argument);
    if (form_.input_index[p] >= 0) return give_input(p, parameter, v, argument);
    kiln::Attr attr;
    const bool fits = tensors_as_numbers_ || !v.is(Tag::Tensor) || parameter.kind == ArgKind::Dtype;
    if (!fits || !read_attr(*form_.op, parameter, v, attr)) return wrong(parameter, v, argument);
    set_attr(p, std::move(attr));
    return true;
  }

  bool give_input(std::size_t p, const kiln::Parameter& parameter, const Value& v, int argument) {
    const auto i = static_cast<std::size_t>(form_.input_index[p]);
    if (v.is(Tag::Tensor)) {
      bound_.inputs[i] = v.as_tensor();
      bound_.any_tensor = true;
    } else if (is_any_number(v)) {
      bound_.inputs[i] = i > 0 && form_.on_numbers ? number_operand(v) : to_operand(v);
    } else {
      return wrong(parameter, v, argument);
    }
    bound_.argument_of_input[i] = static_cast<std::int16_t>(argument);
    return true;
  }

  bool give_list(const kiln::Parameter& parameter, const Value& v, int argument) {
    const auto* items = host::items_of(v);
    if (!items) return wrong(parameter, v, argument);
    for (std::size_t i = 0; i < items->size(); ++i) {
      const Value& item = (*items)[i];
      if (item.is_none() && parameter.kind == ArgKind::OptionalTensorList) {
        list_.emplace_back();
      } else if (item.is(Tag::Tensor) || is_any_number(item)) {
        list_.push_back(to_operand(item));
      } else {
        return fail(fmt::format("{}: item {} of `{}` must be a tensor, got {}", name_, i, parameter.name,
                                describe(item)),
                    argument);
      }
      list_arguments_.push_back(static_cast<std::int16_t>(argument));
    }
    bound_.any_tensor = true;
    return true;
  }

  void set_attr(std::size_t p, kiln::Attr attr) {
    if (!bound_.own_attrs) {
      bound_.attrs = form_.defaults;
      bound_.own_attrs = true;
    }
    bound_.attrs.values()[static_cast<std::size_t>(form_.attr_index[p])] = std::move(attr);
  }

  void append_list() {
    for (std::size_t i = 0; i < list_.size(); ++i) {
      bound_.inputs.push_back(std::move(list_[i]));
      bound_.argument_of_input.push_back(list_arguments_[i]);
    }
  }

  const OpForm& form_;
  std::string_view name_;
  PositionalArguments arguments_;
  NamedArguments named_;
  bool tensors_as_numbers_;
  BoundArguments& bound_;
  Mismatch* mismatch_ = nullptr;
  std::size_t next_ = 0;
  std::uint64_t given_ = 0;  // bit p: parameter p has a value
  kiln::SmallVector<kiln::Tensor, 2> list_;
  kiln::SmallVector<std::int16_t, 2> list_arguments_;
};

// The carets go under arguments, not under inputs.
[[noreturn]] void rethrow(const kiln::OpError& error, const BoundArguments& bound) {
  std::vector<int> arguments;
  for (const int input : error.operands()) {
    if (input < 0 || static_cast<std::size_t>(input) >= bound.argument_of_input.size()) continue;
    const int argument = bound.argument_of_input[static_cast<std::size_t>(input)];
    if (argument >= 0 && std::find(arguments.begin(), arguments.end(), argument) == arguments.end()) {
      arguments.push_back(argument);
    }
  }
  throw kiln::OpError(error.kind(), error.message(), std::move(arguments), error.help());
}

bool writes_into_tensor(const BoundArguments& bound) {
  return !bound.inputs.empty() && bound.inputs.front() && !bound.inputs.front().is_number();
}

[[noreturn]] void refuse_target(const OpEntry& entry) {
  throw kiln::OpError(
      kiln::ErrorKind::Type,
      fmt::format("{} writes into its first argument, which must be a tensor", entry.name), {0},
      fmt::format("use `{}`, which gives a new value", entry.name.substr(0, entry.name.size() - 1)));
}

// One tensor, or a tuple.
Value from_outputs(const kiln::Op& op, kiln::Tensors outputs) {
  if (outputs.size() == 1 && op.outputs != kiln::kVariadic) return Value::adopt(std::move(outputs.front()));
  std::vector<Value> items;
  items.reserve(outputs.size());
  for (const kiln::Tensor& x : outputs) items.emplace_back(x);
  Value tuple = host::tuple_value(std::move(items));
  const std::vector<std::string>& names = op.signature.results;
  if (names.size() == outputs.size() && !names.empty()) tuple.as<Tuple>().names = &names;
  return tuple;
}

Value apply(const OpEntry& entry, const OpForm& form, const BoundArguments& bound) {
  const kiln::Attrs& attrs = bound.own_attrs ? bound.attrs : form.defaults;
  try {
    if (entry.inplace) {
      if (!writes_into_tensor(bound)) refuse_target(entry);
      return Value(kiln::bind_inplace(*form.op, bound.inputs, attrs));
    }
    if (!bound.any_tensor && form.on_numbers) return apply_to_numbers(form, bound.inputs, attrs);
    return from_outputs(*form.op, kiln::bind(*form.op, bound.inputs, attrs));
  } catch (const kiln::DelayedError&) {  // of another op
    throw;
  } catch (const kiln::OpError& error) {
    rethrow(error, bound);
  }
}

// The first form, when the call consists of its tensors alone: by far the most common call. In-place forms
// and calls on numbers alone go the long way.
const OpForm* plain_form(const OpEntry& entry, PositionalArguments arguments, NamedArguments named) {
  const OpForm& form = entry.forms.front();
  if (!named.empty() || form.plain != static_cast<int>(arguments.size()) ||
      !arguments.front().is(Tag::Tensor))
    return nullptr;
  for (const Value& v : arguments) {
    if (!v.is(Tag::Tensor) && !is_any_number(v)) return nullptr;
  }
  return &form;
}

Value call_plain(const OpEntry& entry, const OpForm& form, PositionalArguments arguments) {
  kiln::SmallVector<kiln::Tensor, 4> inputs;
  for (const Value& v : arguments) {
    inputs.push_back(v.is(Tag::Tensor) ? v.tensor() : form.on_numbers ? number_operand(v) : to_operand(v));
  }
  inputs.resize(static_cast<std::size_t>(form.op->signature.inputs));
  // Here inputs and arguments are the same, so that errors speak of the right ones.
  if (entry.inplace) return Value(kiln::bind_inplace(*form.op, inputs, form.defaults));
  kiln::Tensors outputs = kiln::bind(*form.op, inputs, form.defaults);
  return from_outputs(*form.op, std::move(outputs));
}

[[noreturn]] void refuse(const OpEntry& entry, Mismatch mismatch) {
  if (entry.forms.size() > 1 && mismatch.help.empty()) {
    mismatch.help = entry.name + " is one of";
    for (const OpForm& form : entry.forms) mismatch.help += "\n  " + form.op->signature.text;
  }
  std::vector<int> operands;
  if (mismatch.argument >= 0) operands.push_back(mismatch.argument);
  throw kiln::OpError(mismatch.kind, std::move(mismatch.message), std::move(operands),
                      std::move(mismatch.help));
}

}  // namespace

Value call_op(Interpreter& interpreter, const OpEntry& entry, PositionalArguments arguments,
              NamedArguments named) {
  if (const OpForm* form = plain_form(entry, arguments, named)) return call_plain(entry, *form, arguments);
  for (const auto& argument : named) {
    if (is_beside(entry, argument.first)) return call_beside(interpreter, entry, arguments, named);
  }
  Mismatch closest;
  closest.reached = -1;
  // A form that takes a tensor as a tensor comes before one that takes it for a number: `max(x, y)`.
  for (const bool tensors_as_numbers : {false, true}) {
    if (!tensors_as_numbers && entry.forms.size() == 1) continue;
    for (const OpForm& form : entry.forms) {
      BoundArguments bound;
      Mismatch mismatch;
      Binder binder(form, entry.name, arguments, named, tensors_as_numbers, bound);
      if (binder.run(mismatch)) return apply(entry, form, bound);
      if (tensors_as_numbers && mismatch.reached > closest.reached) closest = std::move(mismatch);
    }
  }
  refuse(entry, std::move(closest));
}

Value call_op(Interpreter& interpreter, std::string_view name, PositionalArguments arguments,
              NamedArguments named) {
  const OpEntry* entry = find_op(name);
  if (!entry) raise("NameError", fmt::format("there is no op `{}`", name));
  return call_op(interpreter, *entry, arguments, named);
}

bool is_op(std::string_view name) { return find_op(name) != nullptr; }

}  // namespace kiln::interp
