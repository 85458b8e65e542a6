// Values of kiln.h: made, looked at, taken apart, called.
#include "embed/guarded.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/values/objects.h"

using namespace kiln;
using embed::given;
using embed::guarded;
using embed::guarded_in;
using embed::handle_of;
using embed::values_of;
using interp::Dict;
using interp::List;
using interp::Tag;
using interp::Tuple;
using interp::Value;

namespace kiln::embed {

std::vector<Value> values_of(const kiln_value* const* handles, std::size_t count) {
  std::vector<Value> values;
  values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) values.push_back(given(handles[i], "an item or argument").value);
  return values;
}

}  // namespace kiln::embed

namespace {

// Null where there is no memory.
template <class F>
kiln_value* made(const F& value) noexcept {
  try {
    const embed::Turn turn;
    return handle_of(value()).release();
  } catch (...) {
    return nullptr;
  }
}

kiln_kind kind_of(Tag tag) {
  switch (tag) {
    case Tag::None:
      return KILN_NONE;
    case Tag::Bool:
      return KILN_BOOL;
    case Tag::Int:
      return KILN_INT;
    case Tag::Float:
      return KILN_FLOAT;
    case Tag::Complex:
      return KILN_COMPLEX;
    case Tag::Str:
      return KILN_STRING;
    case Tag::List:
      return KILN_LIST;
    case Tag::Tuple:
      return KILN_TUPLE;
    case Tag::Dict:
      return KILN_DICT;
    case Tag::Tensor:
      return KILN_TENSOR;
    case Tag::Function:
    case Tag::Native:
    case Tag::Method:
    case Tag::Type:
    case Tag::StructType:
      return KILN_FUNCTION;
    default:
      return KILN_OBJECT;
  }
}

const std::vector<Value>* items_of(const Value& value) {
  if (value.is(Tag::List)) return &value.as<List>().items;
  if (value.is(Tag::Tuple)) return &value.as<Tuple>().items;
  return nullptr;
}

std::size_t size_of(const Value& value) {
  if (const std::vector<Value>* const items = items_of(value)) return items->size();
  return value.is(Tag::Dict) ? value.as<Dict>().size() : 0;
}

// Entry number `index` among the live ones.
const Dict::Entry& entry_of(const Dict& dict, std::size_t index) {
  const std::vector<Dict::Entry>& entries = dict.entries();
  if (entries.size() == dict.size()) return entries[index];
  for (std::size_t place = dict.first_live();; ++place)
    if (entries[place].live && index-- == 0) return entries[place];
}

void check_index(const Value& value, std::size_t index) {
  const std::size_t size = size_of(value);
  if (index >= size)
    throw embed::WrongCall{"index is " + std::to_string(index) + ", and the value has " +
                           std::to_string(size) + " items"};
}

}  // namespace

kiln_value* kiln_none(void) {
  return made([] { return Value(); });
}
kiln_value* kiln_bool(int value) {
  return made([&] { return Value(value != 0); });
}
kiln_value* kiln_int(std::int64_t value) {
  return made([&] { return Value(value); });
}
kiln_value* kiln_float(double value) {
  return made([&] { return Value(value); });
}
kiln_value* kiln_complex(double real, double imaginary) {
  return made([&] { return interp::complex_value(real, imaginary); });
}
kiln_value* kiln_string(const char* text, std::size_t size) {
  return made([&] { return Value(std::string_view(text, size)); });
}
kiln_value* kiln_list(const kiln_value* const* items, std::size_t count) {
  return made([&] { return interp::make<List>(values_of(items, count)); });
}
kiln_value* kiln_tuple(const kiln_value* const* items, std::size_t count) {
  return made([&] { return interp::make<Tuple>(values_of(items, count)); });
}

kiln_error* kiln_dict(const kiln_value* const* keys, const kiln_value* const* items, std::size_t count,
                      kiln_value** dict) {
  return guarded(nullptr, [&] {
    kiln_value*& target = given(dict, "dict");
    Value whole = interp::make<Dict>();
    for (std::size_t i = 0; i < count; ++i)
      whole.as<Dict>().set(given(keys[i], "a key").value, given(items[i], "an item").value);
    target = handle_of(std::move(whole)).release();
  });
}

void kiln_value_free(kiln_value* value) { embed::free_value(value); }

kiln_kind kiln_value_kind(const kiln_value* value) { return kind_of(value->value.tag()); }

std::int64_t kiln_value_int(const kiln_value* value) {
  const Value& number = value->value;
  if (number.is(Tag::Float)) return static_cast<std::int64_t>(number.as_float());
  return number.is_number() ? number.as_int() : 0;
}

double kiln_value_float(const kiln_value* value) {
  return interp::is_any_number(value->value) ? interp::complex_of(value->value).real : 0.0;
}

double kiln_value_imaginary(const kiln_value* value) {
  return interp::is_any_number(value->value) ? interp::complex_of(value->value).imaginary : 0.0;
}

const char* kiln_value_string(const kiln_value* value, std::size_t* size) {
  if (!value->value.is(Tag::Str)) return nullptr;
  const std::string& text = value->value.as<interp::Str>().text;
  if (size != nullptr) *size = text.size();
  return text.c_str();
}

std::size_t kiln_value_size(const kiln_value* value) { return size_of(value->value); }

kiln_error* kiln_value_item(const kiln_value* value, std::size_t index, kiln_value** item) {
  return guarded(nullptr, [&] {
    const Value& whole = given(value, "value").value;
    kiln_value*& target = given(item, "item");
    check_index(whole, index);
    const std::vector<Value>* const items = items_of(whole);
    target =
        handle_of(items != nullptr ? (*items)[index] : entry_of(whole.as<Dict>(), index).value).release();
  });
}

kiln_error* kiln_value_key(const kiln_value* value, std::size_t index, kiln_value** key) {
  return guarded(nullptr, [&] {
    const Value& whole = given(value, "value").value;
    kiln_value*& target = given(key, "key");
    if (!whole.is(Tag::Dict)) throw embed::WrongCall{"value is no dict"};
    check_index(whole, index);
    target = handle_of(entry_of(whole.as<Dict>(), index).key).release();
  });
}

kiln_error* kiln_value_attribute(kiln_session* session, const kiln_value* value, const char* name,
                                 kiln_value** attribute) {
  return guarded_in(session, [&](kiln_session& in) {
    kiln_value*& target = given(attribute, "attribute");
    target = handle_of(in.interpreter.attribute(given(value, "value").value, &given(name, "name"))).release();
  });
}

kiln_error* kiln_value_repr(kiln_session* session, const kiln_value* value, kiln_value** text) {
  return guarded_in(session, [&](kiln_session& in) {
    kiln_value*& target = given(text, "text");
    target = handle_of(Value(in.interpreter.repr(given(value, "value").value))).release();
  });
}
