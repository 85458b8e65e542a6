#include "jit/compiler.h"

#include <dlfcn.h>

#include <mutex>

#include "tensor/error.h"

namespace kiln::jit {
namespace {

// Where the build put it, else beside the program or where the system has its libraries.
constexpr const char* kPlaces[] = {KILN_LLVM_LIBRARY, "libkiln_llvm.so"};

CompileFn open_library() {
  for (const char* place : kPlaces) {
    void* const library = dlopen(place, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return reinterpret_cast<CompileFn>(dlsym(library, kCompileSymbol));
  }
  throw InternalError(std::string("kernels cannot be compiled: ") + dlerror());
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
