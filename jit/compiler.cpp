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

std::string with_llvm(const CompileRequest& request) {
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  static const CompileFn compile_with_llvm = open_library();
  CompileAnswer answer;
  compile_with_llvm(request, answer);
  if (!answer.error.empty()) throw InternalError("LLVM: " + answer.error);
  return std::move(answer.made);
}

std::string processor() { return std::string(cpu::name(cpu::isa())); }

}  // namespace

std::string make_object(std::span<const LoopNest> nests) {
  return with_llvm({nests, processor(), Product::Object, {}});
}

CompiledKernels compile(std::span<const LoopNest> nests) {
  CompiledKernels made;
  made.code = Code::load(make_object(nests));
  for (std::size_t i = 0; i < nests.size(); ++i)
    made.functions.push_back(reinterpret_cast<KernelFn>(made.code->find(kernel_symbol(i))));
  return made;
}

std::string print_code(std::span<const LoopNest> nests, Product product,
                       const std::vector<std::vector<std::string>>& names) {
  return with_llvm({nests, processor(), product, names});
}

}  // namespace kiln::jit
