// Owns the region of compiled code that is under way: the frame that runs it, and its part of the frame's
// code.
#pragma once

#include "interpreter/vm/frame.h"

namespace kiln::interp::capture {

// Entries may leave frames down to `base`. In `base` they may begin and end between any two instructions of
// the region: of a whole function that began compiled, or of a loop.
struct Region {
  Frame* base = nullptr;
  std::size_t begin = 0;
  std::size_t end = 0;

  bool contains(std::size_t place) const { return begin <= place && place < end; }
};

// Calls deeper than this, from the base on, are no part of an entry.
inline constexpr std::ptrdiff_t kDeepestCall = 200;

// What the machine does after entries have run at a marked instruction, or one was captured.
enum class Next : std::uint8_t {
  Interpret,  // runs the present instruction, even if it is marked
  Dispatch,   // goes on with the present instruction, and its mark if it has one
  Returned,   // the base was left, and its caller goes on
};

}  // namespace kiln::interp::capture
