// x[index] and x[index] = value on host containers; tensors are the host library's.
#include <algorithm>

#include "interpreter/interpreter.h"
#include "interpreter/values/natives.h"
#include "interpreter/values/objects.h"
#include "interpreter/values/utf8.h"
#include "interpreter/vm/operators.h"
#include "tensor/how_many.h"
#include "tensor/interrupt.h"

namespace kiln::interp {
namespace {

// What places of a range of almost 2^64 items are counted in.
__extension__ using Wide = __int128;

// The places that a slice selects. Places in memory are ints; `step` is the slice's own, which may lead
// beyond.
template <class T>
struct StepsOf {
  T start, step, count;
};
using Steps = StepsOf<std::int64_t>;

Wide bound(const Value& v, Wide absent, Wide size, Wide lowest, Wide highest) {
  if (v.is_none()) return absent;
  if (!v.is(Tag::Int) && !v.is(Tag::Bool)) raise("TypeError", "a slice takes ints, not " + describe(v));
  const Wide n = v.as_int() < 0 ? v.as_int() + size : v.as_int();
  return std::clamp(n, lowest, highest);
}

// Python's rules: bounds are clipped, a negative step goes backwards.
StepsOf<Wide> resolve_wide(const Slice& slice, Wide size) {
  std::int64_t step = 1;
  if (!slice.step.is_none()) {
    if (!slice.step.is(Tag::Int)) raise("TypeError", "a slice takes ints, not " + describe(slice.step));
    step = slice.step.as_int();
  }
  if (step == 0) raise("ValueError", "the step of a slice must not be 0");
  const bool forward = step > 0;
  const Wide lowest = forward ? 0 : -1;
  const Wide highest = forward ? size : size - 1;
  const Wide start = bound(slice.start, forward ? lowest : highest, size, lowest, highest);
  const Wide stop = bound(slice.stop, forward ? highest : lowest, size, lowest, highest);
  const Wide distance = forward ? stop - start : start - stop;
  return {start, step, distance <= 0 ? 0 : (distance - 1) / (forward ? step : -static_cast<Wide>(step)) + 1};
}
Steps resolve(const Slice& slice, std::size_t length) {
  const StepsOf<Wide> steps = resolve_wide(slice, static_cast<Wide>(length));
  return {static_cast<std::int64_t>(steps.start), static_cast<std::int64_t>(steps.step),
          static_cast<std::int64_t>(steps.count)};
}

std::uint64_t position(const Value& index, std::uint64_t size, const Value& object) {
  if (!index.is(Tag::Int) && !index.is(Tag::Bool)) {
    const bool one =
        index.is(Tag::Tensor) && index.tensor().numel() == 1 && kiln::is_integer(index.tensor().dtype());
    if (one) return position(index.tensor().item_int(), size, object);
    raise("TypeError", "a " + std::string(type_name(object)) + " is indexed by an int or a slice, not by " +
                           describe(index));
  }
  Wide at = index.as_int();
  if (at < 0) at += static_cast<Wide>(size);
  if (at < 0 || at >= static_cast<Wide>(size)) {
    const bool is_next = object.is(Tag::List) && at == static_cast<Wide>(size);
    raise("IndexError",
          "index " + std::to_string(index.as_int()) + " is out of range for a " +
              std::string(type_name(object)) + " of " + std::to_string(size),
          is_next ? "indices begin at 0; a list grows by `append`" : "");
  }
  return static_cast<std::uint64_t>(at);
}

std::vector<Value> take(const std::vector<Value>& items, const Slice& slice) {
  const Steps steps = resolve(slice, items.size());
  std::vector<Value> result;
  result.reserve(static_cast<std::size_t>(steps.count));
  for (std::int64_t i = 0; i < steps.count; ++i) {
    check_interrupt();
    result.push_back(items[static_cast<std::size_t>(steps.start + i * steps.step)]);
  }
  return result;
}

// So many ints from `start` on. A stop or step beyond all ints is nearer where that makes no difference.
Value range_of(Wide start, Wide step, Wide count) {
  constexpr Wide kLeast = INT64_MIN, kMost = INT64_MAX;
  const auto fitting = [&](Wide n) { return static_cast<std::int64_t>(std::clamp(n, kLeast, kMost)); };
  const Wide last = start + (count - 1) * step;
  if (count > 1 && (step < kLeast || step > kMost))
    raise("OverflowError", "the step of the range does not fit an int (64 bits)");
  if (count > 0 && (step > 0 ? last == kMost : last == kLeast)) {
    raise("OverflowError", "a range cannot stop behind " + std::to_string(fitting(last)) + ", its last item",
          "leave out that item, or make a list of it");
  }
  return make<Range>(fitting(start), fitting(start + count * step), fitting(step));
}

Value range_index(const Range& range, const Value& object, const Value& index) {
  if (!index.is(Tag::Slice)) {
    return range.item(position(index, range.size(), object));
  }
  const StepsOf<Wide> steps = resolve_wide(index.as<Slice>(), static_cast<Wide>(range.size()));
  const Wide step = steps.step * range.step;
  const Wide start = range.start + steps.start * range.step;
  return range_of(start, step, steps.count);
}

// Every `step`-th code point, backwards for a negative step. Code points that are close to each other are
// found by going through those between them, others each for itself.
std::string stepped(const Str& str, const Steps& steps) {
  constexpr std::int64_t kFar = 64;
  if (steps.count == 0) return {};
  const std::int64_t last = steps.start + (steps.count - 1) * steps.step;
  const std::int64_t lowest = std::min(steps.start, last), highest = std::max(steps.start, last);
  std::vector<std::size_t> starts;  // from the lowest to the highest
  if (!str.is_ascii() && steps.step > -kFar && steps.step < kFar) {
    std::size_t at = str.byte_of(static_cast<std::size_t>(lowest));
    for (std::int64_t i = lowest; i <= highest; ++i, at += code_point_bytes(str.text, at)) {
      check_interrupt();
      starts.push_back(at);
    }
  }
  std::string result;
  for (std::int64_t i = 0; i < steps.count; ++i) {
    check_interrupt();
    const std::int64_t index = steps.start + i * steps.step;
    const std::size_t at = starts.empty() ? str.byte_of(static_cast<std::size_t>(index))
                                          : starts[static_cast<std::size_t>(index - lowest)];
    result.append(str.text, at, code_point_bytes(str.text, at));
  }
  return result;
}

Value text_index(const Value& object, const Value& index) {
  const Str& str = object.as<Str>();
  const std::string_view text = str.text;
  if (!index.is(Tag::Slice)) {
    const std::size_t at = str.byte_of(position(index, str.length(), object));
    return Value(text.substr(at, code_point_bytes(text, at)));
  }
  const Steps steps = resolve(index.as<Slice>(), str.length());
  if (steps.step != 1) return make<Str>(stepped(str, steps));
  const std::size_t begin = str.byte_of(static_cast<std::size_t>(steps.start));
  const std::size_t end = str.byte_of(static_cast<std::size_t>(steps.start + steps.count));
  return Value(text.substr(begin, end - begin));
}

[[noreturn]] void missing_key(Interpreter& interpreter, const Dict& dict, const Value& key) {
  std::string help;
  if (key.is(Tag::Str)) {
    std::vector<std::string_view> keys;
    for (const Dict::Entry& entry : dict.entries()) {
      if (entry.live && entry.key.is(Tag::Str)) keys.push_back(entry.key.as<Str>().text);
    }
    const auto near = lang::nearest(key.as<Str>().text, keys);
    if (!near.empty()) help = "did you mean \"" + std::string(near) + "\"?";
  }
  raise("KeyError", "the dict has no key " + interpreter.repr(key), help);
}

// Storing a list's slice: a step of 1 may change the length.
void set_list_slice(Interpreter& interpreter, List& list, const Slice& slice, const Value& value) {
  std::vector<Value> items = interpreter.to_vector(value);
  const Steps steps = resolve(slice, list.items.size());
  if (steps.step == 1) {
    const auto begin = list.items.begin() + steps.start;
    const std::vector<Value> old(begin, begin + steps.count);  // released when the list is whole again
    const auto at = list.items.erase(begin, begin + steps.count);
    list.items.insert(at, std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
    return;
  }
  if (static_cast<std::int64_t>(items.size()) != steps.count) {
    raise("ValueError",
          "cannot store " + how_many(items.size(), "item") + " in a slice of " + std::to_string(steps.count));
  }
  for (std::int64_t i = 0; i < steps.count; ++i) {
    list.items[static_cast<std::size_t>(steps.start + i * steps.step)].swap(
        items[static_cast<std::size_t>(i)]);
  }
}

const Value* user_method(const Value& object, std::string_view name) {
  return object.is(Tag::Instance) ? object.as<Instance>().struct_type().method(name) : nullptr;
}

}  // namespace

Value get_index(Interpreter& interpreter, const Value& object, const Value& index) {
  switch (object.tag()) {
    case Tag::Tensor:
      return tensor_get(interpreter, object.tensor(), index);
    case Tag::List: {
      const auto& items = object.as<List>().items;
      if (index.is(Tag::Slice)) return make<List>(take(items, index.as<Slice>()));
      return items[position(index, items.size(), object)];
    }
    case Tag::Tuple: {
      const auto& items = object.as<Tuple>().items;
      if (index.is(Tag::Slice)) return make<Tuple>(take(items, index.as<Slice>()));
      return items[position(index, items.size(), object)];
    }
    case Tag::Dict: {
      if (const Value* found = object.as<Dict>().find(index)) return *found;
      missing_key(interpreter, object.as<Dict>(), index);
    }
    case Tag::Str:
      return text_index(object, index);
    case Tag::Range:
      return range_index(object.as<Range>(), object, index);
    default:
      break;
  }
  if (const Value* method = user_method(object, "get")) return interpreter.call(*method, {object, index});
  raise("TypeError", describe(object) + " cannot be indexed",
        object.is(Tag::Set) ? "make a list of it: `list(s)[0]`" : "");
}

namespace {

void delete_slice(std::vector<Value>& items, const Slice& slice) {
  const Steps steps = resolve(slice, items.size());
  std::vector<bool> goes(items.size(), false);
  for (std::int64_t k = 0; k < steps.count; ++k)
    goes[static_cast<std::size_t>(steps.start + k * steps.step)] = true;
  std::size_t at = 0;
  std::vector<Value> gone;  // ends when the list is whole again
  std::erase_if(items, [&](Value& item) {
    if (!goes[at++]) return false;
    gone.push_back(std::move(item));
    return true;
  });
}

}  // namespace

void delete_index(Interpreter& interpreter, const Value& object, const Value& index) {
  switch (object.tag()) {
    case Tag::List: {
      auto& items = object.as<List>().items;
      if (index.is(Tag::Slice)) return delete_slice(items, index.as<Slice>());
      const auto place = items.begin() + static_cast<std::ptrdiff_t>(position(index, items.size(), object));
      const Value gone = std::move(*place);
      items.erase(place);
      return;
    }
    case Tag::Dict:
      if (!object.as<Dict>().erase(index)) missing_key(interpreter, object.as<Dict>(), index);
      return;
    case Tag::Tensor:
      raise("TypeError", "elements of a tensor cannot be deleted: its size is fixed",
            "take those that stay: `cat([x[:i], x[i + 1:]])`, or `x[mask]`");
    default:
      raise("TypeError", "items of " + describe(object) + " cannot be deleted",
            object.is(Tag::Set) ? "write `s.remove(item)`" : "");
  }
}

bool is_written_through(const Value& object, const Value& changed) {
  return object.is(Tag::Tensor) && changed.is(Tag::Tensor) &&
         kiln::shares_storage(object.tensor(), changed.tensor());
}

void set_index(Interpreter& interpreter, const Value& object, const Value& index, const Value& value) {
  switch (object.tag()) {
    case Tag::Tensor:
      return tensor_set(interpreter, object.tensor(), index, value);
    case Tag::List: {
      List& list = object.as<List>();
      if (index.is(Tag::Slice)) return set_list_slice(interpreter, list, index.as<Slice>(), value);
      Value copy = value;
      list.items[position(index, list.items.size(), object)].swap(copy);
      return;
    }
    case Tag::Dict:
      return object.as<Dict>().set(index, value);
    case Tag::Tuple:
      raise("TypeError", "a tuple cannot be changed", "make it a list: `list(…)`");
    case Tag::Str:
      raise("TypeError", "a str cannot be changed", "make a new one, with slices or `replace`");
    default:
      break;
  }
  if (const Value* method = user_method(object, "set")) {
    interpreter.call(*method, {object, index, value});
    return;
  }
  raise("TypeError", "items of " + describe(object) + " cannot be assigned");
}

}  // namespace kiln::interp
