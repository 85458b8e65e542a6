// Owns what an instruction looks at, and what it leaves behind when its result is unknown.
#pragma once

#include "interpreter/check/heap.h"
#include "interpreter/vm/frame.h"

namespace kiln::interp::check {

// May the instruction that comes in `frame` not run, as a value that it looks at is unknown? Instructions
// that only move values look at nothing.
bool looks_at_unknown(const Frame& frame, const UnknownContents& contents);

bool is_call(Opcode op);

// Is an item of what the instruction reads unknown, so that what is said of it may be wrong?
bool reads_unknown_items(const Frame& frame, const UnknownContents& contents);

// Is one of the values that it reads none?
bool reads_none(const Frame& frame);

// A call that is not done might have called functions among its arguments, then or later: the variables and
// containers of the program that those use are unknown from here on.
void forget_what_arguments_may_do(const Frame& frame, UnknownContents& contents);

// A jump that depends on a value, other than that of a loop over items.
bool is_branch(Opcode op);

// Gives the results of the instruction unknown values, and releases the temporaries that it would consume. A
// container that it would change at an unknown place, or by unknown items, has unknown contents.
void give_unknown(const Frame& frame, UnknownContents& contents);

}  // namespace kiln::interp::check
