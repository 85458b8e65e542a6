// Owns looks at the wish to stop that do not act upon it.
#pragma once

#include "tensor/interrupt.h"

namespace kiln {

// Was it requested, and is it due here? A callback of a library written in C asks this, as it cannot throw;
// its caller checks again when the library has come back.
bool interrupt_came();

// Does a scope (HeldInterrupts) of the thread with these holds keep the wish waiting? Any thread may ask.
bool is_held(const InterruptHolds& holds);

}  // namespace kiln
