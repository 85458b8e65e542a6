// Owns the conditions under which a compiled entry stands for the code it was made from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interpreter/capture/expr.h"

namespace kiln::interp::capture {

// Tensors by memory: for each the number of the first that shares its storage. Nothing when one of them is
// there twice.
std::vector<int> memory_groups(const std::vector<const TensorImpl*>& tensors);

// What is asked of a tensor. Strides by kind: row-major; dense in another order of dimensions; else exactly.
struct TensorGuard {
  DType dtype = DType::F32;
  Device device;
  Dims sizes;
  Dims strides;
  bool contiguous = true;
  bool exact_strides = false;  // also the offset: something reads where it lies
  bool same_strides = false;   // the program asked for them, also of dimensions of size 1
  std::int64_t offset = 0;
  bool requires_grad = false;
  bool plain_leaf = false;  // nothing hears of its gradient but `hooks`, and it comes from nowhere else
  std::vector<int> hooks;
  std::optional<bool> parameter;  // nothing: it was not asked whether it is one
  bool is_number = false;
  std::vector<int> symbols;  // by dimension: the symbol that is its size, -1: `sizes`; empty: none is one

  static TensorGuard of(const Tensor& x);
  // What differs, as (name, expected, found); nothing when all is as it was.
  struct Difference {
    std::string what, was, now;
  };
  bool holds(const Tensor& x, Numbers& numbers) const;
  Difference difference(const Tensor& x) const;
};

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
    Keys,       // a dict with the keys of the tuple `value`, in this order
    NoExtra,    // a struct without fields that were not declared
    Tensor,
    GradMode,    // `value`: whether gradients are recorded
    Computed,    // the expression `number` gives `value`
    SameMemory,  // the tensors `several` are not each other, and share memory exactly as they did: `groups`
    Apart,       // none of the objects `several` is another
  };
  Kind kind = Kind::Equal;
  SourceId source = -1;
  SourceId other = -1;
  std::int64_t number = 0;
  Value value;
  TensorGuard tensor{};
  std::vector<SourceId> several{};
  std::vector<int> groups{};

  void visit_references(ReferenceVisitor& visitor) const { interp::visit_references(value, visitor); }
  bool holds(Found& found, Numbers& numbers) const;
  std::string text(const Sources& sources, const Exprs& exprs) const;  // in words: "x is f32[3, 4]"
  // How it fails now: guard, was, now. The guard must not hold.
  TensorGuard::Difference difference(const Sources& sources, const Exprs& exprs, Found& found) const;
};

}  // namespace kiln::interp::capture
