#include "tensor/cpu/folds/fold.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/isa.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

// Elements that are worth waking a thread for.
inline constexpr std::int64_t kGrain = 32768;

void append(FoldDims& dims, std::int64_t size, std::int64_t stride) {
  if (size == 1) return;
  if (dims.rank > 0 && dims.strides[dims.rank - 1] == stride * size) {  // one dimension in truth
    dims.sizes[dims.rank - 1] *= size;
    dims.strides[dims.rank - 1] = stride;
    return;
  }
  dims.sizes[dims.rank] = size;
  dims.strides[dims.rank] = stride;
  ++dims.rank;
}

std::int64_t innermost_stride(const FoldDims& dims) {
  return dims.rank == 0 ? 0 : dims.strides[dims.rank - 1];
}

bool goes_by_columns(const FoldJob& job) {
  return innermost_stride(job.outputs) == 1 && innermost_stride(job.reduced) != 1;
}

void fill_with_identity(const Tensor& result, Combine combine) {
  const auto fill = [&]<class T>() {
    using Limits = std::numeric_limits<T>;
    const T lowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    const T highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
    const T values[kCombineCount] = {T(0), T(1), lowest, highest};
    std::fill_n(result.writable<T>(), result.numel(), values[static_cast<int>(combine)]);
  };
  switch (result.dtype()) {
    case DType::Bool:
      fill.operator()<bool>();
      break;
    case DType::U8:
      fill.operator()<std::uint8_t>();
      break;
    case DType::I8:
      fill.operator()<std::int8_t>();
      break;
    case DType::I16:
      fill.operator()<std::int16_t>();
      break;
    case DType::I32:
      fill.operator()<std::int32_t>();
      break;
    case DType::I64:
      fill.operator()<std::int64_t>();
      break;
    case DType::F64:
      fill.operator()<double>();
      break;
    default:
      fill.operator()<float>();
      break;
  }
}

// Outputs that lie next to each other are not neighbours, and neither are elements of a sequence.
bool is_out_of_order(const FoldJob& job) {
  constexpr std::int64_t kWorthwhile = 4096;
  const FoldDims& outputs = job.outputs;
  if (outputs.rank < 2 || innermost_stride(outputs) == 1 || innermost_stride(job.reduced) == 1) return false;
  const std::span strides(outputs.strides, static_cast<std::size_t>(outputs.rank));
  if (std::find(strides.begin(), strides.end(), 1) == strides.end()) return false;
  return std::accumulate(outputs.sizes, outputs.sizes + outputs.rank, job.count, std::multiplies<>()) >=
         kWorthwhile;
}

Tensor permuted(const Tensor& x, const IntDims& order) {
  Layout layout{{}, {}, x.layout().offset};
  for (const std::int64_t d : order) {
    layout.sizes.push_back(x.layout().sizes[static_cast<std::size_t>(d)]);
    layout.strides.push_back(x.layout().strides[static_cast<std::size_t>(d)]);
  }
  return Tensor::alias(x, layout);
}

// With dimensions of outputs as they lie in memory. Those that are reduced stay in their order, and sequences
// what they are.
void fold_by_memory(const Tensor& result, const Tensor& x, const IntDims& dims, Combine combine, Map map,
                    const Tensor& centers) {
  IntDims outputs;  // dimensions of x
  for (std::int64_t d = 0; d < x.rank(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) outputs.push_back(d);
  IntDims order(outputs.size());  // places among them
  std::iota(order.begin(), order.end(), 0);
  const auto stride = [&](std::int64_t place) {
    const std::int64_t each = x.strides()[static_cast<std::size_t>(outputs[static_cast<std::size_t>(place)])];
    return each == 0 ? std::numeric_limits<std::int64_t>::max() : each;  // what repeats is outermost
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return stride(a) > stride(b); });
  IntDims all, reduced(dims.size()), back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    all.push_back(outputs[static_cast<std::size_t>(order[i])]);
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  std::iota(reduced.begin(), reduced.end(), static_cast<std::int64_t>(all.size()));
  for (const std::int64_t d : dims) all.push_back(d);
  const Tensor moved = centers ? contiguous_copy(permuted(centers, order), centers.dtype()) : centers;
  copy(result, permuted(fold(permuted(x, all), reduced, combine, map, moved), back));
}

// Tiles wide enough to stream along rows, narrow enough that every thread gets some.
std::int64_t column_tile(const FoldJob& job, std::int64_t outputs, std::int64_t columns) {
  constexpr std::int64_t kLeastBytes = 512;
  const std::int64_t least = std::max<std::int64_t>(128, kLeastBytes / job.element_size);
  const std::int64_t share = outputs * job.blocks / (std::int64_t{4} * num_threads());
  return std::clamp((share + 63) / 64 * 64, least,
                    std::min(kMaxColumnTile, std::max<std::int64_t>(columns, least)));
}

void run(FoldJob& job, const FoldKernel& kernel, std::int64_t outputs) {
  const std::int64_t block = std::min(job.count, kReductionBlock);
  if (goes_by_columns(job)) {
    const std::int64_t columns = job.outputs.sizes[job.outputs.rank - 1];
    job.tile = column_tile(job, outputs, columns);
    const std::int64_t tiles = ceil_divide(columns, job.tile);
    const std::int64_t work = block * std::min<std::int64_t>(columns, job.tile);
    parallel_for(outputs / columns * job.blocks * tiles, std::max<std::int64_t>(1, kGrain / work),
                 [&](std::int64_t begin, std::int64_t end) { kernel.columns(job, begin, end); });
  } else {
    parallel_for(outputs * job.blocks, std::max<std::int64_t>(1, kGrain / block),
                 [&](std::int64_t begin, std::int64_t end) { kernel.rows(job, begin, end); });
  }
}

void combine_blocks(const FoldJob& job, const FoldKernel& kernel, const Tensor& result) {
  std::byte* to = result.raw_writable();
  parallel_for(result.numel(), std::max<std::int64_t>(1, kGrain / job.blocks),
               [&](std::int64_t begin, std::int64_t end) { kernel.blocks(job, to, begin, end); });
}

// The kernel for elements of a dtype and how it gets them: as they are or by `load`.
const FoldKernel& choose(DType read, DType result, Combine combine, Map map, FoldJob& job) {
  const FoldKernels& kernels = fold_kernels();
  const auto from = static_cast<std::size_t>(read);
  const auto& folds = kernels.fold[static_cast<std::size_t>(combine)];
  job.load = kernels.load[static_cast<std::size_t>(map)][from];
  if (map == Map::Truth) {
    job.direct = size_of(read) == 1;  // a byte that is not zero will do for true
    return folds[static_cast<std::size_t>(DType::Bool)];
  }
  const bool is_half = read == DType::F16 || read == DType::BF16;
  job.direct = map == Map::Identity && (read == result || is_half);
  if (!job.direct) return folds[static_cast<std::size_t>(result)];
  if (!is_float(read)) job.load = kernels.kept[from];
  return folds[from];
}

// Bytes that are not zero are true.
void make_truth(const Tensor& x) {
  auto* const bytes = reinterpret_cast<std::uint8_t*>(x.raw_writable());
  parallel_for(x.numel(), 4 * kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::uint8_t* const to = bytes;  // looked up once: bytes that are written could be its own
    for (std::int64_t i = begin; i < end; ++i) to[i] = to[i] != 0;
  });
}

}  // namespace

DType fold_result(DType dtype, Combine combine, Map map) {
  if (map == Map::NonZero) return DType::I64;
  if (map == Map::Truth) return DType::Bool;
  const bool extremum = combine == Combine::Max || combine == Combine::Min;
  return extremum && !is_float(dtype) ? dtype : accumulator_of(dtype);
}

Tensor fold(const Tensor& x, const IntDims& dims, Combine combine, Map map, const Tensor& centers) {
  IntDims sizes;
  auto next = dims.begin();
  for (int d = 0; d < x.rank(); ++d) {
    const bool reduced = next != dims.end() && *next == d;
    reduced ? static_cast<void>(++next) : sizes.push_back(x.size(d));
  }
  const Tensor result = Tensor::empty(sizes, fold_result(x.dtype(), combine, map), x.device());
  fold_into(result, x, dims, combine, map, centers);
  return result;
}

void fold_into(const Tensor& output, const Tensor& x, const IntDims& dims, Combine combine, Map map,
               const Tensor& centers) {
  FoldJob job;
  IntDims sizes;
  job.count = 1;
  auto next = dims.begin();
  for (int d = 0; d < x.rank(); ++d) {
    const bool reduced = next != dims.end() && *next == d;
    append(reduced ? job.reduced : job.outputs, x.size(d), x.strides()[static_cast<std::size_t>(d)]);
    if (reduced) {
      job.count *= x.size(d).fixed();
      ++next;
    } else {
      sizes.push_back(x.size(d));
    }
  }
  const DType dtype = fold_result(x.dtype(), combine, map);
  const Tensor result = with_sizes(output, sizes);
  if (job.count == 0) return fill_with_identity(result, combine);
  if (is_out_of_order(job)) return fold_by_memory(result, x, dims, combine, map, centers);
  const std::int64_t outputs = result.numel();
  if (outputs == 0) return;

  job.input = x.raw();
  job.element_size = static_cast<std::int64_t>(size_of(x.dtype()));
  job.blocks = reduction_blocks(job.count);
  if (centers) job.centers = centers.raw();
  const FoldKernel& kernel = choose(x.dtype(), dtype, combine, map, job);
  if (job.blocks == 1) {
    job.results = result.raw_writable();
    run(job, kernel, outputs);
  } else {
    const Dim partial[] = {outputs, job.blocks};
    Tensor partials = Tensor::empty(partial, dtype, x.device());
    job.results = partials.raw_writable();
    run(job, kernel, outputs);
    combine_blocks(job, kernel, result);
  }
  if (map == Map::Truth && x.dtype() != DType::Bool) make_truth(result);
}

Tensor sum_blocks(const Tensor& partials) {
  IntDims sizes = partials.sizes();
  FoldJob job;
  job.blocks = sizes.back();
  sizes.pop_back();
  const Tensor result = Tensor::empty(sizes, partials.dtype(), partials.device());
  job.results = partials.raw_writable();
  const auto kind = static_cast<int>(partials.dtype());
  combine_blocks(job, fold_kernels().fold[static_cast<int>(Combine::Sum)][kind], result);
  return result;
}

}  // namespace kiln::cpu
