// Owns making machine code of loop nests. LLVM lies behind this: its library is opened when the first kernel
// is compiled, so that nobody else waits for it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/kernel_code.h"
#include "jit/loops.h"

namespace kiln::jit {

struct CompiledKernels {
  std::vector<KernelFn> functions;  // by loop nest
  std::shared_ptr<void> code;       // the memory they lie in
};

// Code for the instruction set that kernels run with (tensor/cpu/isa.h). Throws InternalError with what LLVM
// says.
CompiledKernels compile(std::span<const LoopNest> nests);

// What `compile` hands to the library around LLVM, and gets from it. Nothing is thrown across.
struct CompileRequest {
  std::span<const LoopNest> nests;
  std::string processor;  // the instruction set by its name, "x86-64-v4"
};
struct CompileAnswer {
  CompiledKernels kernels;
  std::string error;  // empty when all is well
};
using CompileFn = void (*)(const CompileRequest& request, CompileAnswer& answer);
inline constexpr const char* kCompileSymbol = "kiln_compile_with_llvm";

}  // namespace kiln::jit
