// Owns the value of the language: a 16-byte tagged cell, immediate or counted, and the objects it points to.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/values/code_points.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace kiln::interp {

enum class Tag : std::uint8_t {
  // immediates
  None,
  Bool,
  Int,
  Float,
  DType,
  Device,
  Ellipsis,  // `...` as an index
  Unset,     // a variable without a value: never seen by programs
  // counted objects
  Str,
  List,
  Tuple,
  Dict,
  Set,
  Range,
  Slice,
  Complex,
  Function,
  Native,
  Method,
  Type,
  StructType,
  Instance,
  Module,
  Error,
  File,
  Iterator,
  Cell,
  Graph,
  Opaque,
  // counted, but with the tensor room's own header
  Tensor,
};
inline constexpr Tag kFirstCounted = Tag::Str;

// Header of every counted object but tensors. Counts are not atomic: a value belongs to one thread.
struct Object {
  std::uint32_t refs = 0;
  Tag tag;
  constexpr explicit Object(Tag t) : tag(t) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory, std::size_t bytes);
};
void destroy_object(Object* object);  // by tag, to the right type

// Objects that can be part of a reference cycle: linked, so that the collector finds them.
struct Container : Object {
  Container* next;
  Container* previous;
  std::uint32_t mark = 0;  // the collector's
  explicit Container(Tag t);
  struct Head {};
  constexpr explicit Container(Head) : Object(Tag::None), next(this), previous(this) {}
  ~Container();
};

class Value {
 public:
  Value() : tag_(Tag::None), int_(0) {}
  Value(bool v) : tag_(Tag::Bool), int_(v ? 1 : 0) {}
  Value(std::int64_t v) : tag_(Tag::Int), int_(v) {}
  Value(int v) : Value(static_cast<std::int64_t>(v)) {}
  Value(double v) : tag_(Tag::Float), float_(v) {}
  static Value unset() { return immediate(Tag::Unset); }
  static Value ellipsis() { return immediate(Tag::Ellipsis); }
  // Takes over the caller's reference.
  static Value adopt(kiln::Tensor&& tensor);
  Value(kiln::DType v) : tag_(Tag::DType), int_(static_cast<std::int64_t>(v)) {}
  Value(kiln::Device v) : tag_(Tag::Device), int_(0) { device_ = v; }
  Value(const kiln::Tensor& v);  // an absent tensor is none
  Value(std::string_view text);  // a new Str
  Value(const char* text) : Value(std::string_view(text)) {}
  Value(const std::string& text) : Value(std::string_view(text)) {}
  explicit Value(Object* object) : tag_(object->tag), object_(object) { ++object->refs; }
  Value(const Value& other) : tag_(other.tag_), int_(other.int_) { retain(); }
  Value(Value&& other) noexcept : tag_(other.tag_), int_(other.int_) { other.tag_ = Tag::None; }
  Value& operator=(const Value& other) {
    Value copy(other);
    swap(copy);
    return *this;
  }
  Value& operator=(Value&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Value() { release(); }  // the handle in the union is counted by hand

  Tag tag() const { return tag_; }
  bool is(Tag tag) const { return tag_ == tag; }
  bool is_none() const { return tag_ == Tag::None; }
  bool is_number() const { return tag_ == Tag::Int || tag_ == Tag::Float || tag_ == Tag::Bool; }

  bool as_bool() const { return int_ != 0; }
  std::int64_t as_int() const { return int_; }  // also of Bool
  double as_float() const { return float_; }
  double number() const { return tag_ == Tag::Float ? float_ : static_cast<double>(int_); }
  kiln::DType as_dtype() const { return static_cast<kiln::DType>(int_); }
  kiln::Device as_device() const { return device_; }
  kiln::Tensor as_tensor() const { return kiln::Tensor(kiln::Ref<kiln::TensorImpl>(tensor_)); }
  kiln::TensorImpl* tensor_impl() const { return tensor_; }
  // The tensor without counting; lives as long as this value.
  const kiln::Tensor& tensor() const { return tensor_handle_; }
  Object* object() const { return object_; }
  template <class T>
  T& as() const {
    return *static_cast<T*>(object_);
  }
  // Same object, or equal immediates of the same tag: the language's `is`.
  friend bool identical(const Value& a, const Value& b) {
    return a.tag_ == b.tag_ && (a.int_ == b.int_ || a.tag_ == Tag::None);
  }
  void swap(Value& other) noexcept {
    std::swap(tag_, other.tag_);
    std::swap(int_, other.int_);
  }

  bool is_unset() const { return tag_ == Tag::Unset; }
  bool is_counted() const { return tag_ >= kFirstCounted; }
  // Assignments for the VM's registers: what was here is released at once.
  void put(bool v) { put_bits(Tag::Bool, v ? 1 : 0); }
  void put(std::int64_t v) { put_bits(Tag::Int, v); }
  void put(double v) { put_bits(Tag::Float, std::bit_cast<std::int64_t>(v)); }
  // Likewise where a number is known to have been.
  void renew(std::int64_t v) { int_ = v; }
  void put_none() { put_bits(Tag::None, 0); }
  void assign(const Value& v) {
    v.retain();
    put_bits(v.tag_, v.int_);
  }
  void clear() {
    if (is_counted()) {
      release_counted();
      tag_ = Tag::None;
    }
  }
  // Moves `source` here and leaves it none.
  void take(Value& source) {
    const Tag tag = source.tag_;
    const std::int64_t bits = source.int_;
    source.tag_ = Tag::None;
    put_bits(tag, bits);
  }

  // The same where an object, and no tensor, is known to be.
  void replace_object(Value& source) {
    Object* const old = object_;
    tag_ = source.tag_;
    int_ = source.int_;
    source.tag_ = Tag::None;
    if (--old->refs == 0) destroy_object(old);
  }
  void replace_object(Value&& source) { replace_object(source); }

 private:
  void retain() const {
    if (tag_ < kFirstCounted) return;
    if (tag_ == Tag::Tensor) return tensor_->retain();
    ++object_->refs;
  }
  void release() {
    if (tag_ >= kFirstCounted) release_counted();
  }
  void release_counted();
  static Value immediate(Tag tag) {
    Value v;
    v.tag_ = tag;
    return v;
  }
  void put_bits(Tag tag, std::int64_t bits) {
    if (is_counted()) [[unlikely]] {
      Value old;
      old.tag_ = tag_;
      old.int_ = int_;
      tag_ = tag;
      int_ = bits;
      return;
    }
    tag_ = tag;
    int_ = bits;
  }

  // Copies move the payload as bits, whichever member it is.
  typedef std::int64_t __attribute__((__may_alias__)) Bits;

  Tag tag_;
  union {
    Bits int_;
    double float_;
    kiln::Device device_;
    Object* object_;
    kiln::TensorImpl* tensor_;
    kiln::Tensor tensor_handle_;  // the same pointer as `tensor_`
  };
};
static_assert(sizeof(Value) == 16);

template <class T, class... Args>
Value make(Args&&... args) {
  return Value(static_cast<Object*>(new T(std::forward<Args>(args)...)));
}

struct Str : Object {
  mutable bool ascii_known = false;
  mutable bool ascii = false;
  std::string text;
  mutable std::size_t hash = 0;                // 0: unknown
  mutable std::unique_ptr<CodePoints> points;  // once asked for, of text beyond ASCII
  explicit Str(std::string t) : Object(Tag::Str), text(std::move(t)) {}
  // Only while the object has one owner.
  void append(std::string_view more);
  bool is_ascii() const;  // every byte is a character; asked once
  // In code points.
  std::size_t length() const { return is_ascii() ? text.size() : code_points().count(text); }
  std::size_t byte_of(std::size_t index) const {
    return is_ascii() ? std::min(index, text.size()) : code_points().byte_of(text, index);
  }
  std::size_t index_of(std::size_t byte) const {
    return is_ascii() ? byte : code_points().index_of(text, byte);
  }

 private:
  CodePoints& code_points() const;
};
struct List : Container {
  std::vector<Value> items;
  explicit List(std::vector<Value> v = {}) : Container(Tag::List), items(std::move(v)) {}
};
struct Tuple : Container {
  std::vector<Value> items;
  const std::vector<std::string>* names =
      nullptr;  // of the items of an op's results; live as long as the op table
  explicit Tuple(std::vector<Value> v = {}) : Container(Tag::Tuple), items(std::move(v)) {}
};
// Python's range: iterable without being stored. Its items are ints, their number may be none: `size` counts
// up to 2^64 - 1.
struct Range : Object {
  std::int64_t start, stop, step;
  Range(std::int64_t a, std::int64_t b, std::int64_t s) : Object(Tag::Range), start(a), stop(b), step(s) {}
  std::uint64_t size() const;
  // How often a loop goes round: the size, or the largest int, which no loop comes to.
  std::int64_t iterations() const;
  // The item at a place below the size. Between its ends a sum that wraps is the right one.
  std::int64_t item(std::uint64_t place) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                     place * static_cast<std::uint64_t>(step));
  }
};
struct Slice : Object {
  Value start, stop, step;  // none where not given
  Slice(Value a, Value b, Value s)
      : Object(Tag::Slice), start(std::move(a)), stop(std::move(b)), step(std::move(s)) {}
};
// A variable that a closure shares with its maker.
struct Cell : Container {
  Value value = Value::unset();
  Cell() : Container(Tag::Cell) {}
};

// Equality, order, hash, truth and text of host values. Those that can fail throw UserError without a place;
// the VM adds the place of the instruction.
bool same_value(const Value& a, const Value& b);    // `is`
bool values_equal(const Value& a, const Value& b);  // `==` on host values; tensors only by identity
std::size_t hash_value(const Value& v);             // TypeError for unhashable values
std::string_view type_name(const Value& v);         // "int", "tensor", a struct's name
std::string describe(const Value& v);               // for messages: "f32[3, 4]", "list of 3", "str"

// Insertion-ordered hash map with the language's equality. Iteration by index: erased entries have a live
// mark.
class Dict : public Container {
 public:
  struct Entry {
    Value key, value;
    std::uint32_t hash;  // its low bits, which are all that the table needs
    bool live;
  };
  Dict() : Container(Tag::Dict) {}
  Value* find(const Value& key);
  Value* find(std::string_view key);
  void set(const Value& key, Value value);
  bool erase(const Value& key);
  void clear();
  void exchange(Dict& other) noexcept;  // of all entries
  std::size_t size() const { return live_; }
  // Before this one no entry is live: what takes out the oldest again and again does not pass those that
  // died.
  std::size_t first_live() const { return first_live_; }
  // All entries in order of insertion; skip those not live.
  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<Entry>& entries() { return entries_; }

 private:
  std::size_t probe(const Value& key, std::size_t hash) const;
  void rehash(std::size_t buckets);
  std::vector<Entry> entries_;
  std::vector<std::int32_t> buckets_;  // -1 empty, -2 deleted, else index of an entry
  std::size_t live_ = 0;
  std::size_t first_live_ = 0;

 protected:
  explicit Dict(Tag t) : Container(t) {}
};

// A dict whose values are all none, so that what goes through dicts goes through sets, too.
struct Set : Dict {
  Set() : Dict(Tag::Set) {}
  void add(const Value& item) { set(item, Value()); }
};
inline bool is_dict_or_set(const Value& v) { return v.is(Tag::Dict) || v.is(Tag::Set); }

}  // namespace kiln::interp
