#include "interpreter/values/value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>

#include "interpreter/values/compare_numbers.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/values/graph_value.h"
#include "interpreter/values/objects.h"
#include "interpreter/values/raise.h"
#include "interpreter/values/unknown.h"
#include "interpreter/values/utf8.h"
#include "jit/graph/text.h"
#include "tensor/interrupt.h"

namespace kiln::interp {
namespace {

bool same_bound(const GraphValue& a, const GraphValue& b) {
  return std::equal(a.bound.begin(), a.bound.end(), b.bound.begin(), b.bound.end(),
                    [](const Tensor& x, const Tensor& y) { return x ? y && x.is_same(y) : !y; });
}

}  // namespace

Value::Value(const kiln::Tensor& v) : tag_(v ? Tag::Tensor : Tag::None), int_(0) {
  if (v) {
    tensor_ = v.impl();
    tensor_->retain();
  }
}

Value Value::adopt(kiln::Tensor&& tensor) {
  Value result;
  if (!tensor) return result;
  result.tag_ = Tag::Tensor;
  new (&result.tensor_handle_) kiln::Tensor(std::move(tensor));
  return result;
}

Value::Value(std::string_view text) : Value(static_cast<Object*>(new Str(std::string(text)))) {}

void Value::release_counted() {
  if (tag_ == Tag::Tensor) {
    if (tensor_->release()) kiln::destroy(tensor_);
    return;
  }
  if (--object_->refs == 0) destroy_object(object_);
}

void Str::append(std::string_view more) {
  if (points) points->expect_more(text.size());
  ascii = ascii && kiln::interp::is_ascii(more);
  text += more;
  hash = 0;
}

CodePoints& Str::code_points() const {
  if (!points) points = std::make_unique<CodePoints>();
  return *points;
}

bool Str::is_ascii() const {
  if (!ascii_known) {
    ascii = kiln::interp::is_ascii(text);
    ascii_known = true;
  }
  return ascii;
}

std::uint64_t Range::size() const {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const auto distance = step > 0 ? static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)
                                 : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(stop);
  const auto stride = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  return (distance - 1) / stride + 1;
}

std::int64_t Range::iterations() const {
  constexpr std::uint64_t kMost = INT64_MAX;
  return static_cast<std::int64_t>(std::min(size(), kMost));
}

namespace {

// Nesting at which comparing or hashing gives up instead of overflowing the stack.
constexpr int kMaxNesting = 1000;

class Nesting {
 public:
  Nesting() {
    if (++depth_ > kMaxNesting) {
      --depth_;
      raise("RecursionError", "values are nested too deeply to compare (more than 1000 levels)");
    }
  }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  static thread_local int depth_;
};
thread_local int Nesting::depth_ = 0;

bool sequences_equal(const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  const Nesting nesting;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    check_interrupt();
    if (!identical(a[i], b[i]) && !values_equal(a[i], b[i])) return false;
  }
  return true;
}

bool dicts_equal(Dict& a, Dict& b) {
  if (a.size() != b.size()) return false;
  const Nesting nesting;
  for (const Dict::Entry& entry : a.entries()) {
    check_interrupt();
    if (!entry.live) continue;
    const Value* other = b.find(entry.key);
    if (!other || !values_equal(entry.value, *other)) return false;
  }
  return true;
}

bool ranges_equal(const Range& a, const Range& b) {
  const std::uint64_t n = a.size();
  if (n != b.size()) return false;
  return n == 0 || (a.start == b.start && (n == 1 || a.step == b.step));
}

bool slices_equal(const Slice& a, const Slice& b) {
  const Nesting nesting;
  return values_equal(a.start, b.start) && values_equal(a.stop, b.stop) && values_equal(a.step, b.step);
}

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

std::size_t scramble(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  return x;
}

// Floats equal to an int hash as that int: 1.0 and 1 are the same key.
std::size_t hash_float(double v) {
  if (v >= -0x1p63 && v < 0x1p63 && std::trunc(v) == v) {
    return scramble(static_cast<std::uint64_t>(static_cast<std::int64_t>(v)));
  }
  return scramble(std::bit_cast<std::uint64_t>(v));
}

std::size_t hash_tuple(const Tuple& tuple) {
  const Nesting nesting;
  std::size_t seed = tuple.items.size();
  for (const Value& item : tuple.items) seed = mix(seed, hash_value(item));
  return seed;
}

// `bool` names a type and a dtype, and `x.dtype` is the dtype.
bool is_bool_name(const Value& v) {
  return v.is(Tag::DType) ? v.as_dtype() == kiln::DType::Bool
                          : v.is(Tag::Type) && v.as<Type>().instances == Tag::Bool;
}

}  // namespace

bool same_value(const Value& a, const Value& b) {
  if (identical(a, b)) return true;
  look_at(a);
  look_at(b);
  return a.tag() != b.tag() && is_bool_name(a) && is_bool_name(b);
}

bool values_equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == std::partial_ordering::equivalent;
  if (is_any_number(a) && is_any_number(b)) return complex_equal(a, b);
  if (a.tag() != b.tag()) {
    look_at(a);
    look_at(b);
    return is_bool_name(a) && is_bool_name(b);
  }
  switch (a.tag()) {
    case Tag::Str:
      return a.as<Str>().text == b.as<Str>().text;
    case Tag::List:
      return sequences_equal(a.as<List>().items, b.as<List>().items);
    case Tag::Tuple:
      return sequences_equal(a.as<Tuple>().items, b.as<Tuple>().items);
    case Tag::Dict:
    case Tag::Set:
      return dicts_equal(a.as<Dict>(), b.as<Dict>());
    case Tag::Range:
      return ranges_equal(a.as<Range>(), b.as<Range>());
    case Tag::Slice:
      return slices_equal(a.as<Slice>(), b.as<Slice>());
    case Tag::Method:
      return identical(a.as<Method>().receiver, b.as<Method>().receiver) &&
             identical(a.as<Method>().function, b.as<Method>().function);
    case Tag::Graph:
      return identical(a, b) ||
             (graph_of(a) == graph_of(b) && same_bound(a.as<GraphValue>(), b.as<GraphValue>()));
    default:
      look_at(a);
      return identical(a, b);
  }
}

std::size_t hash_value(const Value& v) {
  switch (v.tag()) {
    case Tag::Float:
      return hash_float(v.as_float());
    case Tag::Complex:
      return complex_hash(v.as<ComplexNumber>());
    case Tag::Str: {
      const Str& s = v.as<Str>();
      if (s.hash == 0) s.hash = std::hash<std::string_view>()(s.text) | 1U;
      return s.hash;
    }
    case Tag::Tuple:
      return hash_tuple(v.as<Tuple>());
    case Tag::List:
    case Tag::Dict:
    case Tag::Set:
      raise("TypeError",
            "a " + std::string(type_name(v)) +
                " cannot be a key of a dict or an item of a set: it can change after it was stored",
            v.is(Tag::List) ? "use a tuple" : "");
    case Tag::Graph:
      return std::hash<std::string>()(jit::print_graph(graph_of(v)));
    case Tag::None:
      return 0x517cc1b7;
    case Tag::Opaque:
      look_at(v);
      return scramble(static_cast<std::uint64_t>(v.as_int()));
    case Tag::Type:
      if (is_bool_name(v)) return hash_value(Value(kiln::DType::Bool));
      return scramble(static_cast<std::uint64_t>(v.as_int()));
    default:
      return scramble(static_cast<std::uint64_t>(v.as_int()));
  }
}

}  // namespace kiln::interp
