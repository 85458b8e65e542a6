// Owns the door through which the C function of a library that `kiln build` made calls its program. One such
// library has one program.
#pragma once

#include <cstddef>

extern "C" {

// Runs the program of the payload on arrays that are row by row, without gaps, and writes its results into
// others. The payload is read at the first call. Gives 0, or 1 when the call failed: nothing is thrown. Any
// number of threads may call it at once.
int built_kiln_run(const char* payload, std::size_t bytes, const void* const* arguments,
                   void* const* results);
// Why the last call of this thread failed; "" before one has.
const char* built_kiln_error(void);
}
