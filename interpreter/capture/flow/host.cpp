// What the host has for numbers and tensors beside ops: functions, types as functions, fields and methods.
#include <algorithm>

#include <fmt/format.h>

#include "interpreter/capture/flow/reader.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/members.h"
#include "interpreter/vm/op_entry.h"
#include "interpreter/vm/tables.h"
#include "tensor/functions.h"

namespace kiln::interp::capture {

using jit::NumberOp;
using jit::Operand;
using Kind = FlowItem::Kind;

namespace {

FlowItem size_item(Dim size) { return FlowItem::number(DType::I64, Operand::of_number(size)); }

bool is_elementwise(const OpEntry& entry) { return entry.forms.front().on_numbers; }
bool are_numbers(const std::vector<FlowItem>& items) {
  return std::all_of(items.begin(), items.end(), [](const FlowItem& each) { return each.is(Kind::Number); });
}

bool is_shared(std::string_view name) {
  const auto all = shared_natives();
  return std::any_of(all.begin(), all.end(), [name](const NativeDef& each) {
    const std::string_view signature = each.signature;
    return signature.substr(0, signature.find('(')) == name;
  });
}

}  // namespace

FlowItem FlowReader::length_of(const FlowItem& given) {
  const FlowItem item = forced(given);
  if (item.is(Kind::Tuple) || item.is(Kind::List))
    return FlowItem::constant(static_cast<std::int64_t>(item.parts.size()));
  if (item.is(Kind::Tensor) && item.tensor.rank() > 0) return size_item(item.tensor.size(0));
  if (item.is(Kind::Range)) return count_of_range(item.parts[0], item.parts[1], item.parts[2]);
  if (is_text(item) && item.source >= 0) return code_points(item).length;
  if (is_text(item)) {
    inputs_.expect_same(item);
    return FlowItem::constant(static_cast<std::int64_t>(item.known.as<Str>().length()));
  }
  if (is_written_list(item) && inputs_.grows(inputs_.owner(item.known, item.source)))
    return forced(value_of(length_variable(item)));
  if (is_written_list(item)) return number_list(item).length;
  const bool is_known = item.is(Kind::Known) && (item.known.is(Tag::List) || item.known.is(Tag::Tuple));
  if (!is_known) throw Unsupported{"the length of " + text_of(item)};
  return FlowItem::constant(static_cast<std::int64_t>(items_of(item).size()));
}

// Nothing where the host has no function of that name that a flow knows.
std::optional<FlowItem> FlowReader::call_host(std::string_view name, std::vector<FlowItem>& arguments) {
  if (name == "len" && arguments.size() == 1) return length_of(arguments[0]);
  if (name == "ord" && arguments.size() == 1) return code_point(arguments[0]);
  if (!are_numbers(arguments)) return std::nullopt;
  if (name == "abs" && arguments.size() == 1) {
    const FlowItem x = arguments[0].dtype == DType::Bool ? as_int(arguments[0]) : arguments[0];
    return notes_.apply(NumberOp::Absolute, x.dtype, {x}, x.is_int());
  }
  if ((name == "min" || name == "max") && arguments.size() > 1) {
    FlowItem best = arguments[0];
    for (std::size_t k = 1; k < arguments.size(); ++k) best = extreme(name == "max", best, arguments[k]);
    return best;
  }
  if (name == "pow" && arguments.size() == 2)
    return numbers_binary(lang::BinaryOp::Pow, arguments[0], arguments[1]);
  return std::nullopt;
}

// The least or greatest of an int and a float is of the kind of either, so each is a way of its own. False:
// the call is another one.
bool FlowReader::choose_extreme(std::uint32_t result, std::string_view name,
                                const std::vector<FlowItem>& arguments) {
  if ((name != "min" && name != "max") || arguments.size() != 2) return false;
  const FlowItem a = forced(arguments[0]), b = forced(arguments[1]);
  if (!a.is(Kind::Number) || !b.is(Kind::Number) || a.dtype == b.dtype) return false;
  const FlowItem takes_second =
      numbers_compared(name == "max" ? lang::CompareOp::Gt : lang::CompareOp::Lt, b, a);
  const std::size_t next = frame().pc + 1;
  const auto choose = [&](const FlowItem& x) {
    reg(result) = x;
    go_to(next);
  };
  split(takes_second, [&] { choose(b); }, [&] { choose(a); });
  return true;
}

FlowItem FlowReader::call_native(const Native& native, std::vector<FlowItem> arguments,
                                 const std::vector<std::string_view>& names) {
  for (FlowItem& each : arguments) each = forced(each);
  if (auto iterator = call_iteration(native.name, arguments, names)) return *std::move(iterator);
  const bool has_tensor = std::any_of(arguments.begin(), arguments.end(),
                                      [](const FlowItem& each) { return each.is(Kind::Tensor); });
  if (!has_tensor && names.empty()) {
    if (const auto result = call_host(native.name, arguments)) return *result;
  }
  if (has_tensor && native.unbound == nullptr && names.empty()) {
    if (native.name == "len" && arguments.size() == 1) return length_of(arguments[0]);
  }
  // Without a tensor a function that shares its name with an op is the host's.
  const bool is_host = !has_tensor && is_shared(native.name);
  const OpEntry* op = native.unbound == nullptr || is_host ? nullptr : find_op(native.name);
  if (op == nullptr) throw Unsupported{"a call of `" + native.name + "`"};
  if (!has_tensor && !arguments.empty() && names.empty() && is_elementwise(*op)) {
    if (!are_numbers(arguments)) throw Unsupported{"a call of `" + native.name + "`"};
    return op_on_numbers(*op, std::move(arguments));
  }
  return call_op_on(*op, arguments, names);
}

FlowItem FlowReader::call_type(const Type& type, std::vector<FlowItem> arguments) {
  for (FlowItem& each : arguments) each = forced(each);
  const std::string text = "a call of `" + type.name + "`";
  if (type.instances == Tag::Range) {
    if (arguments.empty() || arguments.size() > 3 || !are_numbers(arguments)) throw Unsupported{text};
    for (const FlowItem& each : arguments) {
      if (!each.is_int()) throw Unsupported{text};
    }
    const FlowItem zero = FlowItem::constant(std::int64_t{0}), one = FlowItem::constant(std::int64_t{1});
    if (arguments.size() == 1) arguments.insert(arguments.begin(), zero);
    if (arguments.size() == 2) arguments.push_back(one);
    const FlowItem is_step = numbers_compared(lang::CompareOp::Ne, arguments[2], zero);
    if (!is_step.is_literal()) {
      notes_.require(is_step, "the step of a range is zero");
    } else if (!is_step.literal().as_bool()) {
      throw Unsupported{"the step of a range is zero"};
    }
    return FlowItem::group(Kind::Range, std::move(arguments));
  }
  if (arguments.size() != 1) throw Unsupported{text};
  if (type.instances == Tag::Bool) return truth(arguments[0]);
  FlowItem x = arguments[0];
  if (x.is(Kind::Tensor)) x = notes_.item(x.tensor);
  if (!x.is(Kind::Number)) throw Unsupported{text};
  if (type.instances == Tag::Float) return as_float(x);
  if (type.instances != Tag::Int) throw Unsupported{text};
  if (x.dtype != DType::F64) return as_int(x);
  return notes_.apply(NumberOp::ToInt, DType::I64, {x}, true);
}

// Nothing for a field or method that a flow does not know.
std::optional<FlowItem> FlowReader::tensor_member(const Tensor& x, std::string_view name,
                                                  const std::vector<FlowItem>& arguments) {
  const auto converted = [&](DType dtype) { return notes_.item_of(ops::to(x, dtype)); };
  if (name == "size" && arguments.size() == 1) {
    const auto dim = forced(arguments[0]).literal_int();
    if (!dim || x.rank() == 0) return std::nullopt;
    return size_item(x.size(wrap_dim(*dim, x.rank(), "size")));
  }
  if (!arguments.empty()) return std::nullopt;
  if (name == "shape" || name == "size") {
    std::vector<FlowItem> sizes;
    for (const Dim each : x.sizes()) sizes.push_back(size_item(each));
    return FlowItem::group(Kind::Tuple, std::move(sizes));
  }
  if (name == "ndim" || name == "dim") return FlowItem::constant(std::int64_t{x.rank()});
  if (name == "numel") return size_item(x.numel());
  if (name == "dtype") return FlowItem::at(Value(x.dtype()), -1);
  if (name == "device") return FlowItem::at(Value(x.device()), -1);
  if (name == "requires_grad") {
    if (flow_.records) throw Unsupported{"it is asked whether a tensor requires gradients"};
    return FlowItem::constant(false);
  }
  if (name == "item") return notes_.item(x);
  if (name == "float") return converted(DType::F32);
  if (name == "double") return converted(DType::F64);
  if (name == "int") return converted(DType::I32);
  if (name == "long") return converted(DType::I64);
  if (name == "T") {
    Dims dims;
    for (int d = x.rank(); d-- > 0;) dims.push_back(d);
    return notes_.item_of(ops::permute(x, dims));
  }
  return std::nullopt;
}

}  // namespace kiln::interp::capture
