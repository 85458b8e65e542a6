#include "tensor/cpu/moves/offsets.h"

#include <algorithm>
#include <atomic>

#include "tensor/cpu/element_size.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/moves/place_kernels.h"
#include "tensor/integers.h"
#include "tensor/ops/put.h"
#include "tensor/ops/rules.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

namespace {

constexpr std::int64_t kOffsetsGrain = 1 << 14;

// The places of an index' elements in another tensor, dimension `dim` left out, and what one step along it
// is.
struct OffsetLines {
  std::vector<std::int64_t> index;
  std::vector<std::int64_t> other;
  std::vector<std::int64_t> source;
  std::int64_t length;
  std::int64_t index_step;
  std::int64_t other_step;
  std::int64_t source_step;
};

IntDims without(const IntDims& values, int dim) {
  IntDims result = values;
  if (!result.empty()) result.erase(result.begin() + dim);
  return result;
}

OffsetLines lines_along(int dim, const Tensor& index, const Tensor& other, const Tensor& source) {
  const IntDims sizes = without(index.sizes(), dim);
  const auto step = [dim](const Tensor& x) { return x.rank() == 0 ? 1 : x.strides()[as_index(dim)]; };
  return {all_offsets(sizes, without(index.strides(), dim)),
          all_offsets(sizes, without(other.strides(), dim)),
          all_offsets(sizes, without(source.strides(), dim)),
          index.rank() == 0 ? 1 : index.size(dim),
          step(index),
          step(other),
          step(source)};
}

template <class T, class Write>
void scatter_lines(T* out, const T* in, const std::int64_t* index, const OffsetLines& lines,
                   const Write& write) {
  const auto count = static_cast<std::int64_t>(lines.index.size());
  parallel_for(
      count, std::max<std::int64_t>(1, kOffsetsGrain / std::max<std::int64_t>(lines.length, 1)),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t line = begin; line < end; ++line) {
          T* to = out + lines.other[as_index(line)];
          const T* from = in + lines.source[as_index(line)];
          const std::int64_t* place = index + lines.index[as_index(line)];
          // One line may be all that there is.
          in_pieces(as_index(lines.length), kPieceOfValues, [&](std::size_t first, std::size_t past) {
            for (auto i = static_cast<std::int64_t>(first); i < static_cast<std::int64_t>(past); ++i)
              write(to[place[i * lines.index_step] * lines.other_step], from[i * lines.source_step]);
          });
        }
      });
}

}  // namespace

std::vector<std::int64_t> all_offsets(std::span<const std::int64_t> sizes,
                                      std::span<const std::int64_t> strides) {
  std::vector<std::int64_t> result{0};
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::vector<std::int64_t> next;
    next.reserve(result.size() * as_index(sizes[d]));
    for (const std::int64_t base : result) {
      for (std::int64_t i = 0; i < sizes[d]; ++i) next.push_back(base + i * strides[d]);
    }
    result = std::move(next);
  }
  return result;
}

bool one_stride(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
                std::int64_t& stride) {
  bool any = false;
  std::int64_t expected = 0;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    if (any && strides[d] != expected) return false;
    if (!any) stride = strides[d];
    any = true;
    expected = strides[d] * sizes[d];
  }
  return true;
}

Tensor checked_index(const Tensor& index, std::int64_t size, int dim, bool wrap, int operand) {
  const bool ready = index.dtype() == DType::I64 && index.is_contiguous();
  Tensor result = ready ? index : contiguous_copy(index, DType::I64);
  const auto* values = result.data<std::int64_t>();
  const std::int64_t least = wrap ? -size : 0;
  std::atomic<bool> bad{false};
  std::atomic<bool> negative{false};
  parallel_for(result.numel(), kOffsetsGrain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t low = 0;
    std::int64_t high = -1;
    place_kernels().extent(values + begin, end - begin, low, high);
    if (low < least || high >= size) bad = true;
    if (low < 0) negative = true;
  });
  if (bad) {
    const auto* wrong =
        std::find_if(values, values + result.numel().fixed(), [=](auto v) { return v < least || v >= size; });
    rules::index_out_of_bounds(*wrong, dim, size, {operand});
  }
  if (!negative) return result;
  if (ready) result = contiguous_copy(index, DType::I64);
  auto* wrapped = result.writable<std::int64_t>();
  for (std::int64_t i = 0; i < result.numel(); ++i) wrapped[i] += wrapped[i] < 0 ? size : 0;
  return result;
}

void gather(const Tensor& result, const Tensor& x, int dim, const Tensor& index) {
  if (result.numel() == 0) return;
  const auto* places = index.data<std::int64_t>();
  // Row by row of the result, whose last dimension is dense.
  const int last = std::max(result.rank() - 1, 0);
  const std::int64_t columns = result.rank() == 0 ? 1 : result.size(last);
  const std::int64_t step = x.rank() == 0 ? 1 : x.strides()[as_index(dim)];
  const std::int64_t along = x.rank() == 0 || last == dim ? 0 : x.strides()[as_index(last)];
  IntDims row_strides = x.strides();
  if (x.rank() > 0) row_strides[as_index(dim)] = 0;
  const IntDims rows(result.sizes().begin(), result.sizes().begin() + last);
  const std::vector<std::int64_t> bases =
      all_offsets(rows, std::span<const std::int64_t>(row_strides).first(rows.size()));
  visit_size(x.dtype(), [&]<class T>() {
    T* out = reinterpret_cast<T*>(result.raw_writable());
    const T* in = reinterpret_cast<const T*>(x.raw());
    // By elements, since a single row may be all that there is.
    parallel_for(static_cast<std::int64_t>(bases.size()) * columns, kOffsetsGrain,
                 [&](std::int64_t begin, std::int64_t end) {
                   std::int64_t row = begin / columns, first = begin % columns;
                   for (std::int64_t left = end - begin; left > 0; ++row, first = 0) {
                     const std::int64_t past = std::min(columns, first + left);
                     const T* from = in + bases[as_index(row)];
                     const std::int64_t* place = places + row * columns;
                     T* to = out + row * columns;
                     for (std::int64_t j = first; j < past; ++j) to[j] = from[place[j] * step + j * along];
                     left -= past - first;
                   }
                 });
  });
}

namespace {

template <Put kPut>
void scatter_combined(const Tensor& target, const Tensor& source, const std::int64_t* places,
                      const OffsetLines& lines) {
  visit_dtype(target.dtype(), [&]<class T>() {
    T* const out = target.writable<T>();
    const T* const in = source.data<T>();
    scatter_lines(out, in, places, lines, [](T& to, T from) { to = combined<kPut>(to, from); });
  });
}

}  // namespace

void scatter(const Tensor& target, int dim, const Tensor& index, const Tensor& source, Put put) {
  if (index.numel() == 0) return;
  const OffsetLines lines = lines_along(dim, index, target, source);
  const auto* places = index.data<std::int64_t>();
  switch (put) {
    case Put::Write:
      return visit_size(target.dtype(), [&]<class T>() {
        scatter_lines(reinterpret_cast<T*>(target.raw_writable()), reinterpret_cast<const T*>(source.raw()),
                      places, lines, [](T& to, T from) { to = from; });
      });
    case Put::Add:
      return scatter_combined<Put::Add>(target, source, places, lines);
    case Put::Multiply:
      return scatter_combined<Put::Multiply>(target, source, places, lines);
    case Put::Max:
      return scatter_combined<Put::Max>(target, source, places, lines);
    case Put::Min:
      return scatter_combined<Put::Min>(target, source, places, lines);
  }
}

}  // namespace kiln::cpu
