#include "jit/compiler.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "interface_id.h"
#include "jit/code_cache.h"
#include "jit/code_key.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace kiln::jit {
namespace {

// One module of LLVM: so many that setting it up weighs little, so few that threads share a graph, and that
// an interrupt is soon seen.
constexpr std::size_t kNestsTogether = 4;

constexpr const char* kName = "libkiln_llvm.so";

// Where the build put it, else beside the program.
std::string library_path() {
  if (access(KILN_LLVM_LIBRARY, R_OK) == 0) return KILN_LLVM_LIBRARY;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = program.parent_path() / kName;
  return std::filesystem::exists(beside, error) ? beside.string() : "";
}

// What code depends on beside its nests: all that makes it. Empty when it is not known: nothing is kept then.
const std::string& compiler_id() {
  static const std::string id = build_id(library_path());
  return id;
}

std::string with_llvm(const CompileRequest& request) {
  // Without a path, where the system has its libraries.
  static const CompileFn compile_with_llvm =
      compile_function_of(library_path().empty() ? kName : library_path());
  CompileAnswer answer;
  compile_with_llvm(request, answer);
  if (!answer.error.empty()) throw InternalError("LLVM: " + answer.error);
  return std::move(answer.made);
}

std::string processor() { return std::string(cpu::name(cpu::isa())); }

}  // namespace

CompileFn compile_function_of(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw InternalError(std::string("kernels cannot be compiled: ") + dlerror());
  void* const found = dlsym(library, KILN_COMPILE_SYMBOL);
  if (found == nullptr)
    throw InternalError("kernels cannot be compiled: " + path +
                        " belongs to another build of Kiln; build it again");
  return reinterpret_cast<CompileFn>(found);
}

std::string make_object(std::span<const LoopNest> nests) {
  return with_llvm({nests, processor(), Product::Object, {}});
}

namespace {

// Null when there is none on disk.
std::shared_ptr<Code> kept_code(const std::string& key) {
  const std::optional<std::string> object = cached_code(key);
  if (!object) return nullptr;
  try {
    return Code::load(*object);
  } catch (const InternalError&) {  // what it needs is not here
    return nullptr;
  }
}

std::shared_ptr<Code> code_of(std::span<const LoopNest> nests) {
  if (code_cache_bytes() == 0 || compiler_id().empty()) return Code::load(make_object(nests));
  const std::string key = code_key(nests, compiler_id(), processor());
  if (std::shared_ptr<Code> kept = kept_code(key)) return kept;
  const std::string object = make_object(nests);
  keep_code(key, object);
  return Code::load(object);
}

}  // namespace

CompiledKernels compile(std::span<const LoopNest> nests) {
  const std::size_t parts = (nests.size() + kNestsTogether - 1) / kNestsTogether;
  const auto part = [&](std::size_t k) {
    const std::size_t begin = k * kNestsTogether;
    return nests.subspan(begin, std::min(kNestsTogether, nests.size() - begin));
  };
  CompiledKernels made;
  made.code = std::make_shared<Codes>(parts);
  parallel_for(static_cast<std::int64_t>(parts), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
      check_interrupt();
      (*made.code)[k] = code_of(part(k));
    }
  });
  for (std::size_t k = 0; k < parts; ++k) {
    for (std::size_t i = 0; i < part(k).size(); ++i)
      made.functions.push_back(reinterpret_cast<KernelFn>((*made.code)[k]->find(kernel_symbol(i))));
  }
  return made;
}

std::string print_code(std::span<const LoopNest> nests, Product product,
                       const std::vector<std::vector<std::string>>& names) {
  return with_llvm({nests, processor(), product, names});
}

}  // namespace kiln::jit
