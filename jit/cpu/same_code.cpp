#include "jit/cpu/same_code.h"

#include <map>

#include "jit/cpu/code_key.h"

namespace kiln::jit {

CompiledKernels compile_each_once(std::span<const LoopNest* const> nests) {
  std::map<std::string, std::size_t> known;
  std::vector<LoopNest> distinct;
  std::vector<std::size_t> code_of;
  for (const LoopNest* const each : nests) {
    const auto [found, is_new] = known.try_emplace(code_key({each, 1}, "", ""), distinct.size());
    if (is_new) distinct.push_back(*each);
    code_of.push_back(found->second);
  }
  CompiledKernels compiled = compile(distinct);
  std::vector<KernelFn> functions;
  for (const std::size_t code : code_of) functions.push_back(compiled.functions[code]);
  compiled.functions = std::move(functions);
  return compiled;
}

}  // namespace kiln::jit
