// Owns the place of a program as devices keep it, for errors that they tell when the program is further on.
#pragma once

#include "interpreter/vm/errors.h"
#include "tensor/delayed_error.h"
#include "tensor/timeline.h"

namespace kiln::interp {

// The calls that lead to the active instruction. It is awaited where the program may catch an error: what
// follows in a `try` must not run after an op that failed.
kiln::KeptPlace keep_place(Vm& vm);
// The line of an instruction, by its place in the code.
kiln::timeline::Line line_at(const Code& code, std::size_t place);
// The line that the active frame is at; none where no program runs.
kiln::timeline::Line current_line(Vm& vm);
// The innermost frame of the program itself, the standard library's frames being passed over; null when none
// is active.
const Frame* user_frame(Vm& vm);

// The failure that an error of an earlier place means.
Failure delayed_failure(const kiln::DelayedError& error);

}  // namespace kiln::interp
