// Owns which functions are compiled without being asked: those whose calls run many tensor ops.
#pragma once

#include "interpreter/capture/compiled.h"

namespace kiln::interp::capture {

// From the next call on it runs compiled. False for code that never may, or does already.
bool compile_from_now_on(const Code& code, CompileOptions options);
// Likewise the loop whose body begins at `top`, from its next iteration on.
bool compile_loop_from_now_on(const Code& code, std::size_t top, CompileOptions options);

// Lets go of all entries: what they hold may hold the functions that they belong to.
void forget_entries();
// Of these entries, and of what became of calls. Code that runs by them now goes on.
void reset(Compiled& compiled);
void reset_all();

// A function of the same body with code of its own, which is compiled; around anything else that can be
// called, one that hands its arguments on.
Value recompiled(Interpreter& interpreter, const Value& function, const CompileOptions& options);
// Likewise one that is never compiled.
Value never_compiled(Interpreter& interpreter, const Value& function);
// A function whose calls Ctrl-C does not cut: it is seen before or after.
Value uninterrupted(Interpreter& interpreter, const Value& function);

}  // namespace kiln::interp::capture
