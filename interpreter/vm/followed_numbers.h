// Owns what ops ask of the whole numbers that they are given while a call is recorded: which of them follow
// the sizes of arguments.
#pragma once

#include <optional>

#include "interpreter/values/value.h"
#include "tensor/dim.h"

namespace kiln::interp {

class FollowedNumbers {
 public:
  virtual ~FollowedNumbers() = default;
  // An int is known by its place: a register, or an item of a tuple, list or slice. Nothing where it does not
  // follow sizes. The caller makes all that it does with the int depend on the answer.
  virtual std::optional<Dim> size_at(const Value& number) = 0;
  // The same of an int among the operands, where a transform sees the op first: there the graph cannot put an
  // input of its own in place of the number.
  virtual std::optional<Dim> operand_at(const Value& number) = 0;
};

// The one of the call that this thread records, set while an instruction runs. Null: numbers follow nothing.
inline thread_local constinit FollowedNumbers* followed_numbers = nullptr;

// An int as an op's attribute.
inline Dim size_of_number(const Value& number) {
  if (followed_numbers != nullptr) [[unlikely]] {
    if (const auto size = followed_numbers->size_at(number)) return *size;
  }
  return number.as_int();
}

}  // namespace kiln::interp
