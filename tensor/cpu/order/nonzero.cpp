#include "tensor/cpu/order/nonzero.h"

#include "tensor/cpu/elementwise/copy.h"
#include "tensor/integers.h"

namespace kiln::cpu {
namespace {

// Goes through ascending elements of a shape row by row: calls f(index, row, i, end) where elements first +
// places[j], i <= j < end, lie in the row that begins with element `row`, whose index is `index`.
template <class F>
void each_row(const IntDims& sizes, std::int64_t first, const std::uint32_t* places, std::int64_t count,
              const F& f) {
  IntDims index(sizes.size(), 0);
  for (std::int64_t i = 0; i < count;) {
    std::int64_t rest = first + places[i];
    const std::int64_t row = rest - rest % sizes.back();
    rest /= sizes.back();
    for (std::size_t d = sizes.size() - 1; d-- > 0; rest /= sizes[d]) index[d] = rest % sizes[d];
    const std::int64_t begin = i, past = row + sizes.back() - first;
    while (i < count && places[i] < past) ++i;
    f(index, row, begin, i);
  }
}

}  // namespace

TrueElements::TrueElements(const Tensor& x)
    : flags_(x.dtype() == DType::Bool && x.is_contiguous() ? x : contiguous_copy(x, DType::Bool)),
      before_(Tensor::empty(IntDims{ceil_divide(x.numel().fixed(), kBlock) + 1}, DType::I64, x.device())) {
  const bool* flags = flags_.data<bool>();
  auto* const before = before_.writable<std::int64_t>();
  const std::int64_t blocks = before_.numel() - 1;
  before[0] = 0;
  parallel_for(blocks, kBlocksPerThread, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * kBlock;
      before[block + 1] =
          place_kernels().count_true(flags + first, std::min(kBlock, flags_.numel().fixed() - first));
    }
  });
  for (std::int64_t block = 1; block <= blocks; ++block) before[block] += before[block - 1];
}

void nonzero(const Tensor& result, const IntDims& sizes, const TrueElements& found) {
  if (result.numel() == 0) return;
  auto* out = result.writable<std::int64_t>();
  const auto rank = static_cast<std::int64_t>(sizes.size());
  found.each_stretch(
      [&](std::int64_t first, const std::uint32_t* places, std::int64_t count, std::int64_t number) {
        each_row(sizes, first, places, count,
                 [&](const IntDims& index, std::int64_t row, std::int64_t begin, std::int64_t end) {
                   const std::int64_t* from = index.data();
                   std::int64_t* to = out + (number + begin) * rank;
                   for (std::int64_t i = begin; i < end; ++i, to += rank) {
                     for (std::int64_t d = 0; d < rank - 1; ++d) to[d] = from[d];
                     to[rank - 1] = first + places[i] - row;
                   }
                 });
      });
}

Tensor true_offsets(const Tensor& mask, std::span<const std::int64_t> strides) {
  const TrueElements found(mask);
  const Tensor result = Tensor::empty(IntDims{found.count()}, DType::I64, mask.device());
  auto* out = result.writable<std::int64_t>();
  const std::int64_t step = strides.empty() ? 0 : strides.back();
  bool evenly = true;
  for (std::size_t d = strides.size(); d-- > 1;)
    evenly = evenly && strides[d - 1] == strides[d] * mask.size(static_cast<int>(d));
  found.each_stretch(
      [&](std::int64_t first, const std::uint32_t* places, std::int64_t count, std::int64_t number) {
        std::int64_t* to = out + number;
        if (evenly) {
          for (std::int64_t i = 0; i < count; ++i) to[i] = (first + places[i]) * step;
          return;
        }
        each_row(mask.sizes(), first, places, count,
                 [&](const IntDims& index, std::int64_t row, std::int64_t begin, std::int64_t end) {
                   std::int64_t base = (first - row) * step;
                   for (std::size_t d = 0; d + 1 < strides.size(); ++d) base += index[d] * strides[d];
                   for (std::int64_t i = begin; i < end; ++i) to[i] = base + places[i] * step;
                 });
      });
  return result;
}

}  // namespace kiln::cpu
