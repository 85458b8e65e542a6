// Owns the compilation of loop nests to machine code by LLVM. Its library is opened when the first kernel is
// compiled, so that programs without kernels do not wait for it.
#pragma once

#include <span>
#include <string>

#include "jit/llvm/compile_request.h"
#include "jit/passes/no_compiler.h"

namespace kiln::jit {

// Code for the instruction set that kernels run with (tensor/cpu/isa.h): the bytes of an object, with a
// function `kernel_symbol` for each nest, or text (jit/passes/target.h: Target::emit). Throws NoCompiler when
// there is no library, InternalError with what LLVM says.
std::string emit_with_llvm(std::span<const ScheduledNest> nests, Product product = Product::Object,
                           const LineNames& names = {});
// The machine code of a flow: an object with the function kFlowSymbol (jit/llvm/flow_run.h).
std::string emit_flow_with_llvm(const FlowPlan& plan);

// Why there is no compiler, as a sentence; "" where there is one. Opens its library.
std::string why_no_llvm();

// What code depends on beside its nests: the build of all that makes it, empty when it is not known; and the
// instruction set.
std::string llvm_build();
std::string llvm_processor();

// The function of the library in the file `path` (or found by that name). Its symbol names the headers that
// both sides were built from: throws NoCompiler when there is no such file, or when it belongs to another
// build.
CompileFn compile_function_of(const std::string& path);

}  // namespace kiln::jit
