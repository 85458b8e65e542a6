// Owns the sizes and numbers that vary between calls of a place. They are not fixed again, or not even once.
#pragma once

#include "interpreter/capture/entry.h"

namespace kiln::interp::capture {

// Notes the sizes with a name in the function's signature, if the frame is at its begin.
void note_names(Varying& varying, const Frame& frame);
// Notes the numbers that iterations of the compiled loop at the frame's place change.
void note_carried(Varying& varying, const Frame& frame);
// Notes numbers and sizes that differ from those `entry` was made for. False: none that may vary differs.
bool note_varying(Varying& varying, const Entry& entry, SourceValues& found, Numbers& numbers);

}  // namespace kiln::interp::capture
