#include "jit/cuda/emit.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "jit/cuda/nest_text.h"
#include "jit/cuda/tiles.h"
#include "jit/cuda/vectors.h"
#include "jit/passes/target.h"
#include "tensor/cuda/kernel_names.h"

namespace kiln::jit {
namespace {

bool reduces_columns(const ScheduledNest& scheduled) { return !scheduled.nest->columns.empty(); }
bool draws(const ScheduledNest& scheduled) {
  return std::ranges::any_of(scheduled.nest->loads, [](const Load& each) { return each.drawn != nullptr; });
}

void begin_kernel(TextLines& lines, const std::string& symbol, const std::string& parameters) {
  lines.add(0, "extern \"C\" __global__ void __launch_bounds__(256) {}({}) {{", symbol, parameters);
}

// A second function for a nest, where operands allow.
void print_vectors(TextLines& lines, const ScheduledNest& nest, std::size_t number) {
  const int width = vector_width(*nest.nest);
  if (width == 0) return;
  const NestText text(lines, nest, "given", false);
  lines.add(0, "");
  begin_kernel(lines, by_vectors(kernel_symbol(number)), text.parameter());
  text.vectors(width);
  lines.add(0, "}}");
}

// And a third one.
void print_tiles(TextLines& lines, const ScheduledNest& nest, std::size_t number) {
  if (!has_tiles(*nest.nest)) return;
  const NestText text(lines, nest, "given", false);
  lines.add(0, "");
  begin_kernel(lines, by_tiles(kernel_symbol(number)), text.parameter() + ", const TileJob job");
  text.tiles();
  lines.add(0, "}}");
}

void print_alone(TextLines& lines, const ScheduledNest& nest, std::size_t number) {
  NestText text(lines, nest, "given", false);
  const bool by_columns = reduces_columns(nest);
  begin_kernel(lines, kernel_symbol(number), text.parameter() + (by_columns ? ", const ColumnJob job" : ""));
  by_columns ? text.columns(nullptr, "") : nest.nest->row_rank > 0 ? text.blocks_of_rows() : text.elements();
  lines.add(0, "}}");
  print_vectors(lines, nest, number);
  print_tiles(lines, nest, number);
}

// Nests that take each row in turn, one warp a row.
void print_joined_rows(TextLines& lines, std::span<const ScheduledNest> nests, std::size_t number) {
  std::vector<NestText> texts;
  std::string parameters;
  for (std::size_t k = 0; k < nests.size(); ++k) {
    texts.emplace_back(lines, nests[k], fmt::format("given{}", k), true);
    parameters += (k == 0 ? "" : ", ") + texts.back().parameter();
  }
  begin_kernel(lines, kernel_symbol(number), parameters);
  lines.add(1, "const int lane = threadIdx.x % kLanes;");
  lines.add(1,
            "for (Count row = first_thread() / kLanes; row < given0.rows; row += all_threads() / kLanes) {{");
  for (const ScheduledNest& each : nests) {
    for (const Reduction& reduction : each.nest->reductions)
      lines.add(2, "{} slot{};", cuda_element(reduction.accumulator), reduction.slot);
  }
  for (std::size_t k = 0; k < nests.size(); ++k) {
    k == 0 ? lines.add(2, "{{") : lines.add(2, "{{  // {}(row)", kernel_symbol(number + k));
    texts[k].row();
    lines.add(2, "}}");
  }
  lines.add(1, "}}");
  lines.add(0, "}}");
}

// A nest that reduces down the columns, and the one over what comes of that. The second is a kernel, too, for
// columns of several blocks.
void print_joined_columns(TextLines& lines, std::span<const ScheduledNest> nests, std::size_t number) {
  const NestText columns(lines, nests[0], "given0", false);
  const NestText after(lines, nests[1], "given1", true);
  begin_kernel(lines, kernel_symbol(number),
               columns.parameter() + ", const ColumnJob job, " + after.parameter());
  columns.columns(&after, kernel_symbol(number + 1));
  lines.add(0, "}}");
  lines.add(0, "");
  print_alone(lines, nests[1], number + 1);
}

void print_joined(TextLines& lines, std::span<const ScheduledNest> nests, std::size_t number) {
  reduces_columns(nests[0]) ? print_joined_columns(lines, nests, number)
                            : print_joined_rows(lines, nests, number);
}

}  // namespace

const char* cuda_element(DType dtype) { return cuda::element_name(dtype); }
const char* cuda_combine(cpu::Combine combine) { return cuda::combine_name(combine); }

std::string cuda_text(std::span<const ScheduledNest> nests, bool marks) {
  std::string text = std::ranges::any_of(nests, draws) ? "#include \"tensor/cuda/kernels/draws.cuh\"\n" : "";
  if (std::ranges::any_of(nests, reduces_columns)) text += "#include \"tensor/cuda/kernels/columns.cuh\"\n";
  if (std::ranges::any_of(nests, [](const ScheduledNest& each) { return vector_width(*each.nest) > 0; }))
    text += "#include \"tensor/cuda/kernels/vectors.cuh\"\n";
  if (std::ranges::any_of(nests, [](const ScheduledNest& each) { return has_tiles(*each.nest); }))
    text += "#include \"tensor/cuda/kernels/tiles.cuh\"\n";
  text += "#include \"tensor/cuda/kernels/nest.cuh\"\n\nusing namespace kiln;\nusing namespace kiln::cuda;\n";
  for (std::size_t begin = 0; begin < nests.size();) {
    std::size_t end = begin + 1;
    while (end < nests.size() && nests[end].schedule->joins) ++end;
    TextLines lines(marks);
    lines.add(0, "");
    end == begin + 1 ? print_alone(lines, nests[begin], begin)
                     : print_joined(lines, nests.subspan(begin, end - begin), begin);
    text += lines.take();
    begin = end;
  }
  return text;
}

}  // namespace kiln::jit
