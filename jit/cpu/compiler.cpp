#include "jit/cpu/compiler.h"

#include <dlfcn.h>
#include <unistd.h>

#include "interface_id.h"
#include "jit/cpu/build_id.h"
#include "tensor/cpu/isa.h"
#include "tensor/error.h"
#include "tensor/own_folder.h"

namespace kiln::jit {
namespace {

constexpr const char* kName = "libkiln_llvm.so";

// Kiln's own library; where that file is missing, the system's of the same name.
std::string library_path() {
  const std::string path = own_library(KILN_LLVM_LIBRARY);
  return access(path.c_str(), R_OK) == 0 ? path : kName;
}

}  // namespace

CompileFn compile_function_of(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw NoCompiler(std::string("kernels cannot be compiled: ") + dlerror());
  void* const found = dlsym(library, KILN_COMPILE_SYMBOL);
  if (found == nullptr)
    throw NoCompiler("kernels cannot be compiled: " + path +
                     " belongs to another build of Kiln; build it again");
  return reinterpret_cast<CompileFn>(found);
}

namespace {

CompileFn compile_with_llvm() {
  static const CompileFn function = compile_function_of(library_path());
  return function;
}

std::string made_with_llvm(const CompileRequest& request) {
  CompileAnswer answer;
  compile_with_llvm()(request, answer);
  if (!answer.error.empty()) throw InternalError("LLVM: " + answer.error);
  return std::move(answer.made);
}

}  // namespace

std::string why_no_llvm() {
  try {
    compile_with_llvm();
    return {};
  } catch (const NoCompiler& error) {
    return error.what();
  }
}

std::string emit_with_llvm(std::span<const ScheduledNest> nests, Product product, const LineNames& names) {
  return made_with_llvm({nests, llvm_processor(), product, names});
}

std::string emit_flow_with_llvm(const FlowPlan& plan) {
  return made_with_llvm({.nests = {}, .processor = llvm_processor(), .names = {}, .flow = &plan});
}

std::string llvm_build() {
  static const std::string id = build_id(library_path());
  return id;
}

std::string llvm_processor() { return std::string(cpu::name(cpu::isa())); }

}  // namespace kiln::jit
