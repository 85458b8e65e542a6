// Owns running something while all that takes time is recorded.
#pragma once

#include <functional>

#include "interpreter/interpreter.h"
#include "interpreter/profile.h"

namespace kiln::interp {

// Runs f once while ops and lines are timed. Throws what f throws, and OpError (Value) while another
// recording is under way.
Profile profile_run(Interpreter& interpreter, const std::function<void()>& f);

}  // namespace kiln::interp
