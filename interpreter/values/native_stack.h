// Owns how far C++ may recurse on this thread: a limit for whatever walks data that the program nests as deep
// as it likes.
#pragma once

#include <string_view>

namespace kiln::interp {

// The stack below this address is reserved for the handling of errors.
const char* lowest_stack_address();
// Throws RecursionError with the sentence when the stack of this thread is nearly used up.
void check_native_stack(std::string_view sentence);

}  // namespace kiln::interp
