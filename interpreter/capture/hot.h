// Owns the compilation of hot functions: those whose calls run many tensor ops are compiled without being
// asked.
#pragma once

#include <functional>

#include "interpreter/capture/compiled.h"

namespace kiln::interp::capture {

// Compiles the code from its next call on. False for code that may not be compiled, or is already.
bool compile_from_now_on(const Code& code, CompileOptions options);
// The same for the loop whose body begins at `top`, from its next iteration on.
bool compile_loop_from_now_on(const Code& code, std::size_t top, CompileOptions options);
// The loop whose body begins at `top` may run as a flow graph from its next iteration on. Null where the code
// is compiled in another way, or never.
std::shared_ptr<FlowPlace> follow_from_now_on(const Code& code, std::size_t top, CompileOptions options);
// The same without a change; null where that was never said of it.
std::shared_ptr<FlowPlace> followed_at(const Code& code, std::size_t top);
// Will a flow graph run there, or is one still to be read?
bool needs_mark(const Code& code, std::size_t top);

// Is there a compiled state like that?
bool any_compiled(const std::function<bool(const Compiled&)>& is);

// Releases all entries, since they may hold the functions that they belong to.
void forget_entries();
// Drops entries and counts of calls. A call that runs an entry now goes on.
void reset(Compiled& compiled);
void reset_all();

// A function with the same body and its own code, which is compiled. For any other callable, a compiled
// function that passes its arguments on.
Value recompiled(Interpreter& interpreter, const Value& function, const CompileOptions& options);
// The same, but never compiled.
Value never_compiled(Interpreter& interpreter, const Value& function);
// A function whose calls Ctrl-C does not interrupt: they are stopped before or after.
Value uninterrupted(Interpreter& interpreter, const Value& function);

}  // namespace kiln::interp::capture
