#include "tensor/cuda/launch.h"

#include <algorithm>
#include <utility>

#include "tensor/cuda/faults.h"
#include "tensor/integers.h"
#include "tensor/interrupt.h"

namespace kiln::cuda {
namespace {

// Blocks that one multiprocessor may have a turn of: enough to hide what memory takes, and few enough that
// the last ones do not run alone.
constexpr std::int64_t kBlocksOfMultiprocessor = 32;

}  // namespace

void run(Context& context, const Launch& launch, std::span<const Argument> arguments) {
  if (launch.threads == 0) return;
  check_interrupt();
  const std::int64_t wanted = ceil_divide(launch.threads, std::int64_t{launch.block});
  const auto blocks =
      static_cast<unsigned>(std::min(wanted, context.multiprocessors() * kBlocksOfMultiprocessor));
  if (launch.shared_bytes > 0) {  // beyond 48 KiB a function must ask for it
    const auto bytes = static_cast<int>(launch.shared_bytes);
    context.check("cuFuncSetAttribute",
                  driver().api.cuFuncSetAttribute(launch.function, kFunctionMaxDynamicShared, bytes));
  }
  KernelWork work{launch.function, blocks, launch.block, launch.shared_bytes, {}, {}};
  for (const Argument& each : arguments) work.add(each);
  give(context, std::move(work));
  wait_where_awaited(context);
}

}  // namespace kiln::cuda
