#include "jit/cuda/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "jit/cuda/arguments.h"
#include "jit/cuda/columns.h"
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
    .values = 24,              // whose places fit the arguments of a launch
    .kept_bytes = 0,           // memory of a card is larger than what a kernel less is worth
    .epilogue_bytes = kNever,  // products are the library's
    .column_elements = 0,
    .short_row = 0,
    .few_rows = 0,
    // A launch more, and the bandwidth of the card beside its arithmetic.
    .passing = {.near_bytes = 0, .near = 0, .far_bytes = 0, .far = 0, .memory = 60},
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

std::size_t words_of(std::span<const LoopNest> nests) {
  std::size_t words = 0;
  for (const LoopNest& each : nests) words += argument_words(each);
  return words;
}

// Rows that are many or short are taken through all passes in one launch, a warp each: what a pass gives is
// in registers for the next. Long rows, where there are few, are shared among warps, block by block.
bool takes_rows_whole(std::span<const LoopNest> passes, const SymbolValues& hints) {
  constexpr std::int64_t kManyRows = 1024, kShortRow = 4 * kReductionBlock;
  if (passes.size() < 2 || words_of(passes) > kMostArgumentWords) return false;
  const LoopNest& first = passes[0];
  const Dims axes = evaluate(first.axes, hints);
  std::int64_t rows = 1, length = 1;
  for (std::size_t d = 0; d < axes.size(); ++d)
    (d + static_cast<std::size_t>(first.row_rank) < axes.size() ? rows : length) *= axes[d].fixed();
  return rows >= kManyRows || length <= kShortRow;
}

// Those before the first one that goes down columns.
std::span<const LoopNest> along_rows(const Lowered& kernel) {
  std::size_t count = 0;
  while (count < kernel.passes.size() && kernel.passes[count].row_rank > 0 &&
         !goes_down(kernel.passes[count]))
    ++count;
  return std::span(kernel.passes).first(count);
}

// What follows from columns is computed where they were reduced, if one nest has reduced all of them.
bool follows_columns(const Lowered& kernel) {
  if (kernel.columns.empty() || std::ranges::count_if(kernel.passes, goes_down) > 1) return false;
  const std::span<const LoopNest> last = std::span(kernel.passes).last(2);
  constexpr std::size_t kJobWords = sizeof(cuda::ColumnJob) / sizeof(std::int64_t);
  return goes_down(last[0]) && words_of(last) + kJobWords <= kMostArgumentWords;
}

ScheduledKernel schedule(Lowered kernel, const KernelUse& use) {
  if (!kernel.columns.empty()) {
    std::vector<LoopNest> passes = split_by_way(kernel.row_passes());
    passes.push_back(std::move(kernel.passes.back()));
    kernel.passes = std::move(passes);
  }
  Schedule made = plain_schedule(kernel.passes, 1);
  const std::span<const LoopNest> rows = along_rows(kernel);
  const bool are_read_later = std::ranges::any_of(std::span(kernel.passes).subspan(rows.size()), reads_slots);
  if (takes_rows_whole(rows, use.hints)) {
    for (std::size_t p = 0; p < rows.size(); ++p) {
      made.nests[p].joins = p > 0;
      made.nests[p].keeps_results = are_read_later;
    }
  }
  if (follows_columns(kernel)) made.nests.back().joins = true;
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

std::string shared_by(const Lowered& kernel, const Schedule& schedule) {
  if (kernel.passes[0].row_rank == 0) return "a thread for each element";
  const std::size_t rows = along_rows(kernel).size();
  const std::string along = rows > 1 && schedule.nests[1].joins
                                ? "a warp for each row"
                                : fmt::format("a warp for each {} elements of a row", kReductionBlock);
  if (kernel.columns.empty()) return along;
  const std::string down = fmt::format("threads across the columns for each {} rows", kReductionBlock);
  return rows == 0 ? down : along + ", then " + down;
}

void note(const Graph& fused, std::span<KernelNotes> notes) {
  const std::vector<FusedKernel> kernels = kernels_of(fused);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (kernels[k].target != &cuda_target()) continue;
    for (const LoopNest& pass : kernels[k].lowered->passes) {
      notes[k].loads.emplace_back(pass.loads.size());
      notes[k].stores.emplace_back(pass.stores.size());
    }
    notes[k].shared = shared_by(*kernels[k].lowered, *kernels[k].schedule);
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
