// Owns where compiled code is under way: a frame that runs it, and how far it reaches there.
#pragma once

#include "interpreter/frame.h"

namespace kiln::interp::capture {

// Entries may leave frames down to `base`, and stand in it between two instructions: in all of a function
// that began compiled, or in a loop.
struct Region {
  Frame* base = nullptr;
  std::size_t begin = 0;
  std::size_t end = 0;

  bool contains(std::size_t place) const { return begin <= place && place < end; }
};

// Calls deeper than this, from the base on, are no part of an entry.
inline constexpr std::ptrdiff_t kDeepestCall = 200;

// What the machine does at a marked instruction, after entries have run or one was captured.
enum class Next : std::uint8_t {
  Interpret,  // the instruction at which the frames stand now, whatever may be marked there
  Dispatch,   // goes on at that instruction
  Returned,   // the base was left, and its caller goes on
};

}  // namespace kiln::interp::capture
