// Structs that the loop makes: their fields are values of the flow. Which registers hold one and the same is
// known, since a write of its field is seen by all of them.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "interpreter/capture/flow/reader.h"
#include "tensor/autograd.h"

namespace kiln::interp::capture {

using Kind = FlowItem::Kind;

namespace {

const StructType& type_of(const FlowItem& made) { return made.known.as<StructType>(); }

std::ptrdiff_t place_of(const FlowItem& made, std::string_view name) {
  const int declared = type_of(made).field(name);
  if (declared >= 0) return declared;
  const auto found = std::find(made.names.begin(), made.names.end(), name);
  if (found == made.names.end()) return -1;
  return static_cast<std::ptrdiff_t>(type_of(made).fields.size()) + (found - made.names.begin());
}

bool is_within(std::int64_t serial, const FlowItem& item) {
  return (item.is(Kind::Struct) && item.serial == serial) ||
         std::any_of(item.parts.begin(), item.parts.end(),
                     [serial](const FlowItem& part) { return is_within(serial, part); });
}

bool is_within(std::int64_t serial, const std::vector<FlowItem>& items) {
  return std::any_of(items.begin(), items.end(),
                     [serial](const FlowItem& each) { return is_within(serial, each); });
}

void change(FlowItem& item, const FlowItem& made) {
  if (item.is(Kind::Struct) && item.serial == made.serial) {
    item = made;
    return;
  }
  for (FlowItem& part : item.parts) change(part, made);
}

}  // namespace

// Texts of the program count by where they are in memory.
std::optional<std::int64_t> FlowReader::serial_of(const FlowItem& item) {
  if (item.is(Kind::Struct) || (item.is(Kind::Letter) && item.source < 0)) return item.serial;
  if (item.known.is(Tag::Str)) return item.known.as_int();
  return std::nullopt;
}

// What a field can hold. A leaf that requires gradients becomes a parameter by that, which a flow does not
// do.
FlowItem FlowReader::stored(const FlowItem& item) {
  const bool may_hold_leaf = item.is(Kind::Known) && (item.known.is(Tag::List) || item.known.is(Tag::Tuple) ||
                                                      item.known.is(Tag::Dict));
  const bool is_leaf = item.known.is(Tag::Tensor) && requires_grad(levels::innermost(item.known.tensor()));
  if (may_hold_leaf || is_leaf) throw Unsupported{text_of(item) + " becomes a field of a struct"};
  FlowItem value = forced(item);
  if (flow_.records && value.is(Kind::Tensor) && !notes_.is_made(value.tensor))
    throw Unsupported{text_of(value) + ", which may require gradients, becomes a field of a struct"};
  for (FlowItem& part : value.parts) part = stored(part);
  refuse_iterators({value});
  return value;
}

FlowItem FlowReader::new_struct(const FlowItem& type) {
  FlowItem made = FlowItem::group(Kind::Struct, {});
  made.known = type.known;
  made.serial = ++serials_;
  for (const std::optional<Value>& each : type_of(made).defaults) {
    const FlowItem value = FlowItem::constant(each ? *each : Value::unset());
    made.parts.push_back(each ? stored(value) : value);
  }
  return made;
}

void FlowReader::call_struct(std::uint32_t base, const FlowItem& callee, std::vector<FlowItem> arguments,
                             const std::vector<std::string_view>& names) {
  const StructType& type = callee.known.as<StructType>();
  if (type.is_autograd) throw Unsupported{"a call of `" + type.name + "`"};
  FlowItem made = new_struct(callee);
  if (const Value* init = type.method("init")) {
    if (!init->is(Tag::Function)) throw Unsupported{"a call of `" + type.name + "`"};
    arguments.insert(arguments.begin(), made);
    const FlowItem function = FlowItem::at(*init, -1);
    inputs_.expect_code(function);
    return enter(function, bound(function, std::move(arguments), names));
  }
  const Unsupported misfit{"`" + type.name + "` is made in a way that needs binding"};
  if (arguments.size() > type.fields.size()) throw misfit;
  const std::size_t plain = arguments.size() - names.size();
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const int place = k < plain ? static_cast<int>(k) : type.field(names[k - plain]);
    if (place < 0 || (k >= plain && static_cast<std::size_t>(place) < plain)) throw misfit;
    made.parts[static_cast<std::size_t>(place)] = stored(arguments[k]);
  }
  const bool lacks_field = std::any_of(made.parts.begin(), made.parts.end(),
                                       [](const FlowItem& each) { return each.known.is_unset(); });
  if (lacks_field || made.parts.empty()) throw misfit;
  reg(base) = std::move(made);
}

// Nothing where the struct has no such field now.
std::optional<FlowItem> FlowReader::made_field(const FlowItem& made, std::string_view name) {
  const std::ptrdiff_t place = place_of(made, name);
  if (place < 0) return std::nullopt;
  const FlowItem& value = made.parts[static_cast<std::size_t>(place)];
  if (value.known.is_unset()) return std::nullopt;
  return value;
}

// In a call, a struct that is older is as it was where the loop is left in front of the call.
void FlowReader::set_made_field(FlowItem made, std::string_view name, const FlowItem& given) {
  const std::string text = fmt::format("`.{}` of {}", name, text_of(made));
  FlowItem value = stored(given);
  if (is_within(made.serial, value)) throw Unsupported{text + " becomes a part of itself"};
  const std::vector<FlowItem>& outer = state_.frames.front().registers;
  if (state_.in_call() && state_.registers_before.empty() && is_within(made.serial, outer))
    state_.registers_before = outer;
  const StructType& type = type_of(made);
  std::ptrdiff_t place = place_of(made, name);
  if (place < 0) {
    const auto& fields = type.init_fields;
    if (!type.is_open && std::find(fields.begin(), fields.end(), name) == fields.end())
      throw Unsupported{text + " is assigned"};
    place = static_cast<std::ptrdiff_t>(made.parts.size());
    made.names.emplace_back(name);
    made.parts.emplace_back();
  }
  made.parts[static_cast<std::size_t>(place)] = std::move(value);
  for (FlowFrame& each : state_.frames) {
    for (FlowItem& item : each.registers) change(item, made);
  }
  for (FlowItem& item : state_.variables) change(item, made);
}

// Which of the structs and texts in a state are one and the same, as a text.
std::string FlowReader::sameness_of(const FlowState& state) {
  std::map<std::int64_t, std::size_t> first;
  std::size_t place = 0;
  std::string text;
  const std::function<void(const std::vector<FlowItem>&)> go_through =
      [&](const std::vector<FlowItem>& items) {
        for (const FlowItem& each : items) {
          const auto serial = serial_of(each);
          const std::size_t known = serial ? first.try_emplace(*serial, place).first->second : place;
          if (known != place) text += fmt::format(";{}={}", place, known);
          ++place;
          go_through(each.parts);
        }
      };
  for (const FlowFrame& each : state.frames) go_through(each.registers);
  go_through(state.variables);
  go_through(state.variables_before);
  go_through(state.registers_before);
  return text;
}

}  // namespace kiln::interp::capture
