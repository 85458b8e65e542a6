// Owns what calls of a place show to vary: sizes and numbers that are not fixed again, or not even once.
#pragma once

#include "interpreter/capture/entry.h"

namespace kiln::interp::capture {

// Sizes with a name in the signature of the function that begins.
void note_names(Varying& varying, const Frame& frame);
// Numbers that the iterations of the compiled loop around the frame's place change.
void note_carried(Varying& varying, const Frame& frame);
// Numbers and sizes that are others than `entry` was made for. False: nothing that may vary differs.
bool note_varying(Varying& varying, const Entry& entry, SourceValues& found, Numbers& numbers);

}  // namespace kiln::interp::capture
