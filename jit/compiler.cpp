#include "jit/compiler.h"

#include <dlfcn.h>

#include <mutex>

#include "tensor/error.h"

namespace kiln::jit {
namespace {

// The file beside the program's other libraries, as the run path of the program says.
constexpr const char* kLibrary = "libkiln_llvm.so";

CompileFn open_library() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw InternalError(std::string("kernels cannot be compiled: ") + dlerror());
  return reinterpret_cast<CompileFn>(dlsym(library, kCompileSymbol));
}

}  // namespace

CompiledKernels compile(std::span<const LoopNest> nests) {
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  static const CompileFn with_llvm = open_library();
  CompileAnswer answer;
  with_llvm({nests, std::string(cpu::name(cpu::isa()))}, answer);
  if (!answer.error.empty()) throw InternalError("LLVM: " + answer.error);
  return std::move(answer.kernels);
}

}  // namespace kiln::jit
