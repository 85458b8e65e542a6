// Owns the compilation of loop nests to machine code by LLVM. Its library is opened when the first kernel is
// compiled, so that programs without kernels do not wait for it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/kernel_code.h"
#include "jit/loops.h"
#include "jit/object.h"

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

enum class Product : std::uint8_t { Object, Llvm, Assembly };

// The code as text: LLVM's own language, or assembly. `names` are those of registers, by nest; empty for one
// without. Lines that begin with kMark and a number are no code: what follows belongs to that line of the
// nest
// (`line_text`), up to the next mark.
std::string print_code(std::span<const LoopNest> nests, Product product,
                       const std::vector<std::vector<std::string>>& names);
inline constexpr char kMark = '@';

// The function that a nest becomes.
inline std::string kernel_symbol(std::size_t nest) { return "kernel" + std::to_string(nest); }

// What is handed to the library around LLVM, and what comes back. Nothing is thrown across.
struct CompileRequest {
  std::span<const LoopNest> nests;
  std::string processor;  // the instruction set by its name, "x86-64-v4"
  Product product = Product::Object;
  std::vector<std::vector<std::string>> names;
};
struct CompileAnswer {
  std::string made;   // the bytes of the object, or the text
  std::string error;  // empty when all is well
};
using CompileFn = void (*)(const CompileRequest& request, CompileAnswer& answer);

// There is no library around LLVM, or it is not ours: nothing that the program did.
class NoCompiler : public InternalError {
  using InternalError::InternalError;
};

// The function of the library in the file `path` (or found by that name). Its symbol names the headers that
// both sides were built from: throws NoCompiler when there is no such file, or when it belongs to another
// build.
CompileFn compile_function_of(const std::string& path);

}  // namespace kiln::jit
