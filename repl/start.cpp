#include "repl/start.h"

#include <string>

#include "jit/pipeline/code_cache.h"
#include "repl/options.h"
#include "repl/paths.h"
#include "tensor/code_store.h"
#include "tensor/cpu/isa.h"

namespace kiln::repl {

void check_processor() {
  const std::string_view missing = cpu::missing_isa();
  if (missing.empty()) return;
  throw UsageError{"this build is for processors with " + std::string(missing) + ", which this one is not",
                   "`scripts/build release` builds for this machine, `scripts/build bundle` for every one"};
}

void use_kept_kernels() {
  jit::use_code_cache({kernel_folder, jit::kCodeCacheBytes});
  use_code_store({jit::cached_code, jit::keep_code});
}

}  // namespace kiln::repl
