// Owns programs for cards: text in CUDA C++ becomes code of a card by NVRTC, once, and functions of it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/cuda/context.h"

namespace kiln::cuda {

// The function `name` of a program, on the context's card. The program is compiled when it is first asked
// for, unless the store has its code. Throws InternalError with NVRTC's words where it does not compile,
// OpError (Interrupted) where Ctrl-C ends that, and what the driver says of code that it does not load.
FunctionHandle function_of(Context& context, const std::string& text, const std::string& name);

// Compiles a program for every card that is in use, so that it is there when it is launched.
void compile_for_cards_in_use(const std::string& text);

// The program in PTX, for people: what is run is code for the card itself.
std::string ptx_of(const std::string& text, int capability);

// Where code is kept beyond the process (jit/pipeline/code_cache.h). Code is found by all that decides it,
// and is what was kept, or nothing.
struct CodeStore {
  std::function<std::optional<std::string>(std::string_view key)> find;
  std::function<void(std::string_view key, std::string_view code)> keep;
};
void use_code_store(CodeStore store);
CodeStore code_store();  // empty functions where nothing is kept

}  // namespace kiln::cuda
