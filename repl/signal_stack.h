// Owns the stack that signal handlers of the main thread run on.
#pragma once

namespace kiln::repl {

// Gives handlers with SA_ONSTACK a stack of their own. A handler needs it when the stack is used up, and when
// library code has its data beyond the stack pointer: a signal that came within oneDNN's `sgemm` overwrote
// heap memory.
void use_signal_stack();

}  // namespace kiln::repl
