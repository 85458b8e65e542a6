#include "tensor/cpu/flip.h"

#include <algorithm>

#include "tensor/parallel.h"

namespace kiln::cpu {

namespace {

// Only the size of an element matters: one body for each.
template <class T>
void copy_rows(const Tensor& result, const Tensor& x, const Layout& from) {
  const int last = from.rank() - 1;
  const Dim columns = from.sizes[static_cast<std::size_t>(last)];
  const Dim step = from.strides[static_cast<std::size_t>(last)];
  T* out = reinterpret_cast<T*>(result.raw_writable());
  const T* in = reinterpret_cast<const T*>(x.storage()->data());
  parallel_for(result.numel() / columns, std::max<Dim>(1, (1 << 15) / columns),
               [&, out, in](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   std::int64_t at = from.offset;
                   std::int64_t rest = row;
                   for (int d = last - 1; d >= 0; --d) {
                     const auto dim = static_cast<std::size_t>(d);
                     at += rest % from.sizes[dim] * from.strides[dim];
                     rest /= from.sizes[dim];
                   }
                   T* to = out + row * columns;
                   for (Dim j = 0; j < columns; ++j) to[j] = in[at + j * step];
                 }
               });
}

}  // namespace

Tensor flip(const Tensor& x, std::span<const Dim> dims) {
  const Tensor result = Tensor::empty(x.sizes(), x.dtype(), x.device());
  if (x.numel() == 0) return result;
  Layout from = x.layout();
  if (from.rank() == 0) from = {{1}, {1}, from.offset};
  for (const Dim d : dims) {
    const auto dim = static_cast<std::size_t>(d);
    from.offset += (from.sizes[dim] - 1) * from.strides[dim];
    from.strides[dim] = -from.strides[dim];
  }
  switch (size_of(x.dtype())) {
    case 1:
      copy_rows<std::uint8_t>(result, x, from);
      break;
    case 2:
      copy_rows<std::uint16_t>(result, x, from);
      break;
    case 4:
      copy_rows<std::uint32_t>(result, x, from);
      break;
    default:
      copy_rows<std::uint64_t>(result, x, from);
      break;
  }
  return result;
}

}  // namespace kiln::cpu
