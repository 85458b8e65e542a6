// Owns what each program of Kiln's does before it makes a session.
#pragma once

namespace kiln::repl {

// A build for one kind of processor may have been carried to another: throws UsageError there.
void check_processor();

// Compiled kernels are kept on the disk, and found there.
void use_kept_kernels();

}  // namespace kiln::repl
