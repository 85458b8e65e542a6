// Owns programs for cards: text in CUDA C++ becomes code of a card by NVRTC, once, and functions of it.
#pragma once

#include <string>

#include "tensor/cuda/context.h"

namespace kiln::cuda {

// The function `name` of a program, on the context's card. The program is compiled when it is first asked
// for, unless the store has its code (tensor/code_store.h). Throws InternalError with NVRTC's words where it
// does not compile, OpError (Interrupted) where Ctrl-C ends that, and what the driver says of code that it
// does not load.
FunctionHandle function_of(Context& context, const std::string& text, const std::string& name);

// Compiles a program for every card that is in use, so that it is there when it is launched.
void compile_for_cards_in_use(const std::string& text);

// The program in PTX, for people: what is run is code for the card itself.
std::string ptx_of(const std::string& text, int capability);

}  // namespace kiln::cuda
