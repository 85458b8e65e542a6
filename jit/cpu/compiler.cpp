#include "jit/cpu/compiler.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "interface_id.h"
#include "jit/cpu/code_cache.h"
#include "jit/cpu/code_key.h"
#include "tensor/error.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::jit {
namespace {

// One module of LLVM, in lines of loop nests: setting it up costs as much as compiling one or two nests does,
// and between two of them an interrupt is seen.
constexpr std::size_t kMostLines = 256;

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
  if (library == nullptr) throw NoCompiler(std::string("kernels cannot be compiled: ") + dlerror());
  void* const found = dlsym(library, KILN_COMPILE_SYMBOL);
  if (found == nullptr)
    throw NoCompiler("kernels cannot be compiled: " + path +
                     " belongs to another build of Kiln; build it again");
  return reinterpret_cast<CompileFn>(found);
}

std::string make_object(std::span<const LoopNest> nests) {
  return with_llvm({nests, processor(), Product::Object, {}});
}

namespace {

// Empty when code is not kept.
std::string key_on_disk(std::span<const LoopNest> nests) {
  const bool is_kept = code_cache_bytes() > 0 && !compiler_id().empty();
  return is_kept ? code_key(nests, compiler_id(), processor()) : "";
}

// Null when there is none on disk with a function for each nest.
std::shared_ptr<Code> kept_code(const std::string& key, std::size_t nests) {
  if (key.empty()) return nullptr;
  const std::optional<std::string> object = cached_code(key);
  if (!object) return nullptr;
  try {
    std::shared_ptr<Code> code = Code::load(*object);
    for (std::size_t i = 0; i < nests; ++i) static_cast<void>(code->find(kernel_symbol(i)));
    return code;
  } catch (const InternalError&) {  // what it needs is not here
    return nullptr;
  }
}

std::shared_ptr<Code> made_code(std::span<const LoopNest> nests, const std::string& key) {
  const std::string object = make_object(nests);
  if (!key.empty()) keep_code(key, object);
  return Code::load(object);
}

std::size_t lines_of(const LoopNest& nest) {
  return nest.body.size() + nest.stores.size() + nest.reductions.size() + nest.columns.size();
}

// Neighbours together, about as much for each thread.
std::vector<std::span<const LoopNest>> modules_of(std::span<const LoopNest> nests) {
  std::size_t all = 0;
  for (const LoopNest& each : nests) all += lines_of(each);
  const auto threads = static_cast<std::size_t>(num_threads());
  const std::size_t most = std::min(kMostLines, ceil_divide(all, threads));
  std::vector<std::span<const LoopNest>> modules;
  std::size_t begin = 0, lines = 0;
  for (std::size_t k = 0; k < nests.size(); ++k) {
    lines += lines_of(nests[k]);
    if (lines < most && k + 1 < nests.size()) continue;
    modules.push_back(nests.subspan(begin, k + 1 - begin));
    begin = k + 1;
    lines = 0;
  }
  return modules;
}

}  // namespace

CompiledKernels compile(std::span<const LoopNest> nests) {
  const std::vector<std::span<const LoopNest>> modules = modules_of(nests);
  CompiledKernels made;
  made.code = std::make_shared<Codes>(modules.size());
  std::vector<std::string> keys;
  std::vector<std::size_t> missing;
  for (std::size_t k = 0; k < modules.size(); ++k) {
    keys.push_back(key_on_disk(modules[k]));
    (*made.code)[k] = kept_code(keys[k], modules[k].size());
    if ((*made.code)[k] == nullptr) missing.push_back(k);
  }
  parallel_for(static_cast<std::int64_t>(missing.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (const std::size_t k :
         std::span(missing).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))) {
      check_interrupt();
      (*made.code)[k] = made_code(modules[k], keys[k]);
    }
  });
  for (std::size_t k = 0; k < modules.size(); ++k) {
    for (std::size_t i = 0; i < modules[k].size(); ++i)
      made.functions.push_back(reinterpret_cast<KernelFn>((*made.code)[k]->find(kernel_symbol(i))));
  }
  return made;
}

std::string print_code(std::span<const LoopNest> nests, Product product,
                       const std::vector<std::vector<std::string>>& names) {
  return with_llvm({nests, processor(), product, names});
}

}  // namespace kiln::jit
