// Calls of ops, on tensors and on numbers.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/capture/flow/reader.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/followed_numbers.h"
#include "interpreter/vm/op_beside.h"
#include "interpreter/vm/op_entry.h"
#include "tensor/ops/pointwise.h"

namespace kiln::interp::capture {

// Which ints among the arguments of an op follow the flow, by their places.
class NumbersByPlace final : public FollowedNumbers {
 public:
  NumbersByPlace() { followed_numbers = this; }
  ~NumbersByPlace() override { followed_numbers = nullptr; }
  NumbersByPlace(const NumbersByPlace&) = delete;
  NumbersByPlace& operator=(const NumbersByPlace&) = delete;

  void add(const Value& place, Dim size) { places_.push_back({&place, size, false}); }
  std::optional<Dim> size_at(const Value& number) override {
    for (Place& each : places_) {
      if (each.place != &number) continue;
      each.is_asked = true;
      return each.size;
    }
    return std::nullopt;
  }
  std::optional<Dim> operand_at(const Value& number) override { return size_at(number); }
  bool all_asked() const {
    return std::all_of(places_.begin(), places_.end(), [](const Place& each) { return each.is_asked; });
  }

 private:
  struct Place {
    const Value* place;
    Dim size;
    bool is_asked;
  };
  std::vector<Place> places_;
};

// The value that stands for an item where an op is called. Ints that the flow computes stand by their hints.
Value FlowReader::stand_in(const FlowItem& item) {
  const FlowItem x = forced(item);
  switch (x.kind) {
    case FlowItem::Kind::Known:
      // The same list may have other items in another run.
      if (x.known.is(Tag::List) || x.known.is(Tag::Tuple)) return stand_in_items(items_of(x));
      inputs_.expect_same(x);
      return x.known;
    case FlowItem::Kind::Tensor:
      return x.tensor;
    case FlowItem::Kind::Number:
      if (x.is_literal()) return x.literal();
      return x.is_int() ? Value(notes_.hint_of(x)) : Value(notes_.number_tensor(x));
    case FlowItem::Kind::Tuple:
    case FlowItem::Kind::List:
      return stand_in_items(x.parts);
    default:
      throw Unsupported{text_of(x) + " is given to an op"};
  }
}

// A number that was found outside stands for itself: a size, or which dimension.
Value FlowReader::stand_in_items(const std::vector<FlowItem>& items) {
  std::vector<Value> values;
  for (const FlowItem& each : items) {
    const bool is_plain = each.is(FlowItem::Kind::Known) && each.known.is_number();
    if (is_plain) inputs_.expect_same(each);
    values.push_back(is_plain ? each.known : stand_in(each));
  }
  return make<Tuple>(std::move(values));
}

void FlowReader::follow(NumbersByPlace& numbers, const Value& place, const FlowItem& item) {
  const FlowItem x = forced(item);
  if (x.is_int() && !x.is_literal()) numbers.add(place, notes_.size_of(x));
  for (std::size_t k = 0; k < x.parts.size(); ++k) follow(numbers, place.as<Tuple>().items[k], x.parts[k]);
}

FlowItem FlowReader::call_op_on(const OpEntry& entry, const std::vector<FlowItem>& arguments,
                                const std::vector<std::string_view>& names) {
  for (const std::string_view each : names) {
    if (is_beside(entry, each)) throw Unsupported{fmt::format("an op with `{}`", each)};
  }
  std::vector<Value> values;
  for (const FlowItem& each : arguments) values.push_back(stand_in(each));
  if (entry.inplace && !values.empty() && values[0].is(Tag::Tensor)) note_write(values[0].tensor());
  const std::size_t plain = values.size() - names.size();
  std::vector<std::pair<std::string_view, Value>> named;
  for (std::size_t k = 0; k < names.size(); ++k) named.emplace_back(names[k], values[plain + k]);
  NumbersByPlace numbers;
  for (std::size_t k = 0; k < values.size(); ++k)
    follow(numbers, k < plain ? values[k] : named[k - plain].second, arguments[k]);
  const Value result = call_op(vm_.interpreter(), entry, std::span(values).first(plain), named);
  if (!numbers.all_asked()) throw Unsupported{"`" + entry.name + "` takes a number as it is now"};
  return result_of(result);
}

FlowItem FlowReader::result_of(const Value& value) {
  if (value.is(Tag::Tensor)) return notes_.item_of(value.tensor());
  if (!value.is(Tag::Tuple)) throw Unsupported{"an op that gives " + describe(value)};
  std::vector<FlowItem> parts;
  for (const Value& each : value.as<Tuple>().items) parts.push_back(result_of(each));
  return FlowItem::group(FlowItem::Kind::Tuple, std::move(parts));
}

namespace {

bool gives_whole_numbers(const Op& op) {
  return op.pointwise != nullptr && (op.pointwise->flags & kWholeNumbers) != 0;
}

}  // namespace

// An elementwise op on numbers computes in f64, ints too where it gives a float of them.
FlowItem FlowReader::op_on_numbers(const OpEntry& entry, std::vector<FlowItem> arguments) {
  const OpForm& form = entry.forms.front();
  const std::string text = "`" + entry.name + "` of numbers";
  const bool is_plain = form.on_numbers && form.plain == static_cast<int>(arguments.size()) &&
                        form.op->signature.inputs == form.plain && !entry.inplace;
  if (!is_plain) throw Unsupported{text};
  bool any_float = false, any_bool = false, all_literal = true;
  for (const FlowItem& each : arguments) {
    any_float = any_float || each.dtype == DType::F64;
    any_bool = any_bool || each.dtype == DType::Bool;
    all_literal = all_literal && each.is_literal();
  }
  if (all_literal) {
    std::vector<Value> values;
    for (const FlowItem& each : arguments) values.push_back(each.literal());
    return FlowItem::constant(call_op(vm_.interpreter(), entry, values));
  }
  const std::vector<TensorType> types(arguments.size(),
                                      TensorType{any_float ? DType::F64 : DType::I64, {}, {}, false});
  const bool gives_float =
      form.op->infer(types, form.defaults)[0].dtype == (any_float ? DType::F64 : default_float());
  if (any_bool || !gives_float) throw Unsupported{text + " that gives no float"};
  for (FlowItem& each : arguments) each = as_float(each);
  const FlowItem number = notes_.call(form.op->name(), arguments);
  if (!gives_whole_numbers(*form.op)) return number;
  const FlowItem size = notes_.apply(jit::NumberOp::Absolute, DType::F64, {number}, false);
  notes_.require(notes_.apply(jit::NumberOp::Less, DType::Bool, {size, FlowItem::constant(9e18)}, false),
                 "a number is too large");
  return notes_.apply(jit::NumberOp::ToInt, DType::I64, {number}, true);
}

}  // namespace kiln::interp::capture
