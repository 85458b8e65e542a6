// Owns where the ways through a function meet again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "interpreter/values/code.h"

namespace kiln::interp::check {

// The instructions that every way to the end of a function passes. Ways that end in an error count for none.
class Flow {
 public:
  explicit Flow(const Code& code);
  // The nearest instruction that is passed from both places, which may be one of them; `end()` when only the
  // end of the function is, or nothing.
  std::size_t meeting(std::size_t a, std::size_t b) const;
  std::size_t end() const { return end_; }

 private:
  using Places = std::vector<std::uint64_t>;  // a bit for each
  bool update(const Code& code, std::size_t pc);

  std::size_t end_;
  std::vector<Places> passed_;      // by place: what is passed from there on, itself among it
  std::vector<std::size_t> count_;  // of these
};

}  // namespace kiln::interp::check
