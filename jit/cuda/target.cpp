#include "jit/cuda/target.h"

#include <fmt/format.h>

#include <limits>

#include "jit/cuda/emit.h"
#include "jit/cuda/kernel.h"
#include "jit/cuda/ptx_text.h"
#include "jit/loops/kernel_op.h"
#include "tensor/fixed_order.h"

namespace kiln::jit {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

constexpr KernelLimits kLimits{
    .work = 512,
    .values = 24,               // whose places fit the arguments of a launch
    .kept_bytes = 0,            // memory of a card is larger than what a kernel less is worth
    .epilogue_bytes = kNever,   // products are the library's
    .column_elements = kNever,  // columns are reduced by kernels of their own
    .short_row = 0,
    .few_rows = 0,
};

std::string why_not(const Graph&, const Node& node) {
  const Lowering& lowering = node.op->lowering;
  if (lowering.as<lowering::Gather>() != nullptr || lowering.as<lowering::Draw>() != nullptr)
    return fmt::format("on cards {} is a kernel of its own", node.op->name());
  return "";
}

ScheduledKernel schedule(Lowered kernel, const KernelUse&) {
  Schedule plain = plain_schedule(kernel.passes, 1);
  return {std::move(kernel), std::move(plain)};
}

std::string emit(std::span<const ScheduledNest> nests, Product product, const LineNames&) {
  std::string text = cuda_text(nests, product != Product::Object);
  return product == Product::Assembly ? marked_ptx(text) : text;
}

std::shared_ptr<const LoadedCode> load(std::string_view object) {
  return std::make_shared<const CudaCode>(std::string(object));
}

// Code is kept by the compiler of programs itself, for each card.
std::string no_build() { return ""; }

void note(const Graph& fused, std::span<KernelNotes> notes) {
  const std::vector<FusedKernel> kernels = kernels_of(fused);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (kernels[k].target != &cuda_target()) continue;
    for (const LoopNest& pass : kernels[k].lowered->passes) {
      notes[k].loads.emplace_back(pass.loads.size());
      notes[k].stores.emplace_back(pass.stores.size());
    }
    const bool by_rows = kernels[k].lowered->passes[0].row_rank > 0;
    notes[k].shared = by_rows ? fmt::format("a warp for each {} elements of a row", kReductionBlock)
                              : std::string("a thread for each element");
  }
}

}  // namespace

const Target& cuda_target() {
  static constexpr Target kTarget{
      .name = "cuda",
      .limits = kLimits,
      .lines_at_once = std::numeric_limits<std::size_t>::max(),  // one program a graph
      .source_comment = "//",
      .assembly_comment = "//",
      .why_not = why_not,
      .schedule = schedule,
      .emit = emit,
      .load = load,
      .launch = make_cuda_kernel,
      .compiler = no_build,
      .processor = no_build,
      .note = note,
  };
  return kTarget;
}

}  // namespace kiln::jit
