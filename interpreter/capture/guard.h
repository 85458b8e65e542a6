// Owns guards: the conditions under which a compiled entry may replace the code it was captured from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interpreter/capture/expr.h"

namespace kiln::interp::capture {

// Groups tensors by memory: for each tensor the number of the first one that shares its storage. Empty when a
// tensor occurs twice.
std::vector<int> memory_groups(const std::vector<const TensorImpl*>& tensors);

// What the tape would say of a write to a tensor, or to a view of it, for the sake of the tensor or of what
// it is a view of.
enum class BaseHistory : std::uint8_t {
  None,      // nothing
  Computed,  // the write is recorded, also where a view is a constant
  Leaf,      // it is refused
};

// The guard on a tensor. It checks strides by kind: row-major; dense in another order of dimensions; else
// exactly.
struct TensorGuard {
  DType dtype = DType::F32;
  Device device;
  Dims sizes;
  Dims strides;
  bool contiguous = true;
  bool exact_strides = false;  // and the offset, since a node depends on the place in memory
  bool same_strides = false;   // the program asked for strides, also of dimensions of size 1
  bool row_major = false;      // of `contiguous` ones: they are those of `contiguous_strides`, too
  std::int64_t offset = 0;
  bool requires_grad = false;
  bool plain_leaf = false;  // a leaf whose gradient nothing but `hooks` observes
  std::vector<int> hooks;
  std::optional<BaseHistory> base;  // nullopt: nothing is written
  std::optional<bool> parameter;    // nullopt: the program did not ask
  bool is_number = false;
  // Of the innermost transform: is it a view from outside of it? nullopt: a tensor of none.
  std::optional<bool> captured;
  std::vector<int> symbols;  // by dimension: the symbol that is its size, -1: `sizes`; empty: none is one

  static TensorGuard of(const Tensor& x);
  // The first property that differs, before and now; empty when none does.
  struct Difference {
    std::string what, was, now;
  };
  bool holds(const Tensor& x, Numbers& numbers) const;
  Difference difference(const Tensor& x) const;
};

// What a guard on the modes compares beside the recording of gradients: `fastmath()` and `autocast(dtype)`.
std::int64_t modes_number();

struct Guard {
  enum class Kind : std::uint8_t {
    Equal,      // an immediate or a text, `value`
    Identical,  // the same object as `value`
    Same,       // the same object as the source `other`
    Different,  // another object than the source `other`
    Tag,        // of the type of `value`
    Struct,     // an instance of the struct `value`
    Code,       // a function with the body of the function `value`
    Length,     // `number` items
    Iterator,   // an iterator of the form `number`, of as many parts as `other`
    Keys,       // a dict with the keys of the tuple `value`, in this order
    Present,    // `value`: whether there is such a field
    Extras,     // a struct whose fields beside the declared ones have the names `value`, in this order
    Tensor,
    Modes,       // `value`: whether gradients are recorded, `number`: of `fastmath()` and `autocast(dtype)`
    Membership,  // ranks and process sets are those of the version `number`
    Computed,    // the expression `number` gives `value`
    SameMemory,  // the tensors `members` are not each other, and share memory exactly as they did: `groups`
    Apart,       // none of the objects `members` is another
  };
  Kind kind = Kind::Equal;
  SourceId source = -1;
  SourceId other = -1;
  std::int64_t number = 0;
  Value value;
  TensorGuard tensor{};
  std::vector<SourceId> members{};
  std::vector<int> groups{};
  std::string reason{};  // of a computed one: the op that asked

  void visit_references(ReferenceVisitor& visitor) const { interp::visit_references(value, visitor); }
  bool holds(SourceValues& found, Numbers& numbers) const;
  std::string text(const Sources& sources, const Exprs& exprs) const;  // in words: "x is f32[3, 4]"
  // The guard's text, the earlier value and the present one. The guard must not hold.
  TensorGuard::Difference difference(const Sources& sources, const Exprs& exprs, SourceValues& found) const;
};

}  // namespace kiln::interp::capture
