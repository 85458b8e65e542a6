// Owns the places of a function's loops among its instructions.
#pragma once

#include <optional>
#include <vector>

#include "interpreter/values/code.h"

namespace kiln::interp::capture {

// The instructions from the first of the body to behind the last jump back. The condition, or the step to the
// next item, is below the body.
struct Loop {
  std::size_t top = 0;
  std::size_t end = 0;
  bool contains(std::size_t pc) const { return top <= pc && pc < end; }
};

class Loops {
 public:
  explicit Loops(const Code& code);
  const std::vector<Loop>& all() const { return all_; }
  // The loop whose body begins there; null: none does.
  const Loop* at(std::size_t top) const {
    const int number = by_top_[top];
    return number < 0 ? nullptr : &all_[static_cast<std::size_t>(number)];
  }
  // The loops around an instruction, innermost first.
  std::vector<Loop> around(std::size_t pc) const;

 private:
  std::vector<Loop> all_;
  std::vector<int> by_top_;  // -1: none
};

}  // namespace kiln::interp::capture
