// Owns the compilation of loop nests to machine code by LLVM. Its library is opened when the first kernel is
// compiled, so that programs without kernels do not wait for it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/cpu/object.h"
#include "jit/loops/compile_request.h"
#include "jit/loops/kernel_code.h"
#include "jit/loops/loops.h"
#include "jit/passes/no_compiler.h"

namespace kiln::jit {

using Codes = std::vector<std::shared_ptr<Code>>;

struct CompiledKernels {
  std::vector<KernelFn> functions;  // by loop nest
  std::shared_ptr<Codes> code;      // owns their memory
};

// Code for the instruction set that kernels run with (tensor/cpu/isa.h), made on all threads. Throws
// InternalError with what LLVM says, OpError (Interrupted) when that was asked for meanwhile.
CompiledKernels compile(std::span<const LoopNest> nests);

// The same as the bytes of an object, with a function `kernel_symbol` for each nest.
std::string make_object(std::span<const LoopNest> nests);

// The code as text: LLVM's own language, or assembly. `names` are those of registers, by nest; empty for one
// without. Lines that begin with kMark and a number are no code: what follows belongs to that line of the
// nest
// (`line_text`), up to the next mark.
std::string print_code(std::span<const LoopNest> nests, Product product,
                       const std::vector<std::vector<std::string>>& names);
// The function of the library in the file `path` (or found by that name). Its symbol names the headers that
// both sides were built from: throws NoCompiler when there is no such file, or when it belongs to another
// build.
CompileFn compile_function_of(const std::string& path);

}  // namespace kiln::jit
