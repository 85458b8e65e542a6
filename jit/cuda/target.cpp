#include "jit/cuda/target.h"

#include <fmt/format.h>

#include <limits>

#include "jit/cuda/arguments.h"
#include "jit/cuda/emit.h"
#include "jit/cuda/kernel.h"
#include "jit/cuda/nest_words.h"
#include "jit/cuda/ptx_text.h"
#include "jit/loops/kernel_op.h"
#include "jit/shape_rules.h"
#include "tensor/cuda/gathers.h"
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

const Type& type_of(const Graph& graph, ValueId id) {
  return graph.values[static_cast<std::size_t>(id)].type;
}

std::string why_no_gather(const Graph& graph, const Node& node) {
  const std::string_view name = node.op->name();
  if (!cuda::reads_indexed(*node.op)) return fmt::format("on cards {} is a kernel of its own", name);
  if (has_symbols(node.attrs))
    return fmt::format("on cards {} of sizes that vary is a kernel of its own", name);
  if (type_of(graph, node.outputs[0]).sizes.size() > kMostAxes)
    return fmt::format("on cards {} along more than {} dimensions is a kernel of its own", name, kMostAxes);
  for (const Operand& each : node.operands) {
    if (each.is_number() || (each.is_value() && type_of(graph, each.value).is_number))
      return fmt::format("on cards {} of numbers is a kernel of its own", name);
    if (each.is_value() && type_of(graph, each.value).dtype == DType::Bool)
      return fmt::format("on cards {} by a mask, or of truth values, is a kernel of its own", name);
  }
  return "";
}

std::string why_not(const Graph& graph, const Node& node) {
  const Lowering& lowering = node.op->lowering;
  if (lowering.as<lowering::Gather>() != nullptr) return why_no_gather(graph, node);
  if (lowering.as<lowering::Draw>() != nullptr && has_symbols(node.attrs))
    return fmt::format("on cards {} of sizes that vary is a kernel of its own", node.op->name());
  return "";
}

// Rows that are many or short are taken through all passes in one launch, a warp each: what a pass gives is
// in registers for the next. Long rows, where there are few, are shared among warps, block by block.
bool takes_rows_whole(const Lowered& kernel, const SymbolValues& hints) {
  constexpr std::int64_t kManyRows = 1024, kShortRow = 4 * kReductionBlock;
  const LoopNest& first = kernel.passes[0];
  if (kernel.passes.size() == 1 || first.row_rank == 0) return false;
  std::size_t words = 0;
  for (const LoopNest& each : kernel.passes) words += argument_words(each);
  if (words > kMostArgumentWords) return false;
  const Dims axes = evaluate(first.axes, hints);
  std::int64_t rows = 1, length = 1;
  for (std::size_t d = 0; d < axes.size(); ++d)
    (d + static_cast<std::size_t>(first.row_rank) < axes.size() ? rows : length) *= axes[d].fixed();
  return rows >= kManyRows || length <= kShortRow;
}

ScheduledKernel schedule(Lowered kernel, const KernelUse& use) {
  Schedule made = plain_schedule(kernel.passes, 1);
  if (takes_rows_whole(kernel, use.hints)) {
    for (std::size_t p = 1; p < made.nests.size(); ++p) made.nests[p].joins = true;
  }
  return {std::move(kernel), std::move(made)};
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
    const std::vector<NestSchedule>& nests = kernels[k].schedule->nests;
    notes[k].shared = !by_rows ? "a thread for each element"
                      : nests.size() > 1 && nests[1].joins
                          ? "a warp for each row"
                          : fmt::format("a warp for each {} elements of a row", kReductionBlock);
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
