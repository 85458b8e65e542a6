// Owns being a shadow: a process that does once more what another one does, to be compared with it
// (capture/beside.h). It computes, and touches nothing outside of itself.
#pragma once

namespace kiln::interp::shadow {

bool active();
// This process is one from here on. What it writes for `print` is kept; see Interpreter::Tap.
void begin();
// Before something that others would notice, or that is another thing each time: files, input, the clock. A
// shadow ends, and is not compared.
void leave();

inline constexpr int kLeft = 3;  // its exit status then

}  // namespace kiln::interp::shadow
