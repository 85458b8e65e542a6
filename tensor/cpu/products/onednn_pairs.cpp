#include "tensor/cpu/products/onednn_pairs.h"

#include <algorithm>
#include <cstring>

#include "tensor/cpu/elementwise/transpose_kernels.h"

namespace kiln::cpu::onednn {

std::optional<PairLayout> pair_layout(const dnnl_memory_desc_t& layout) {
  const dnnl_blocking_desc_t& blocking = layout.format_desc.blocking;
  const bool is_plain_2d = layout.format_kind == dnnl_blocked && layout.ndims == 2 && layout.offset0 == 0 &&
                           layout.extra.flags == dnnl_memory_extra_flag_none &&
                           layout.padded_offsets[0] == 0 && layout.padded_offsets[1] == 0;
  if (!is_plain_2d || blocking.inner_nblks != 3) return std::nullopt;
  const std::int64_t deep = blocking.inner_blks[0], width = blocking.inner_blks[1];
  const auto& dims = blocking.inner_idxs;
  if (dims[0] != 0 || dims[1] != 1 || dims[2] != 0 || blocking.inner_blks[2] != 2) return std::nullopt;
  const std::int64_t pairs = layout.padded_dims[0] / 2, block = pairs * width * 2;
  // Blocks of rows follow one another within one of columns.
  if (blocking.strides[0] != deep * width * 2 || blocking.strides[1] != block) return std::nullopt;
  return PairLayout{layout.dims[0], layout.dims[1], pairs, width, block};
}

void PairLayout::pack(std::int64_t number, const MatrixView<BFloat16>& from, BFloat16* to) const {
  const MatrixView<BFloat16> part{from.data + number * width * from.column, from.row, from.column};
  const std::int64_t some = std::min(width, columns - number * width);
  to += number * block;
  if (some < width) std::fill_n(to, block, BFloat16{});
  if (from.column == 1) {
    pack_rows(part, to, some);
  } else {
    pack_columns(part, to, some);
  }
  BFloat16* rest = to + rows / 2 * width * 2;
  std::fill(rest, to + block, BFloat16{});
  if (rows % 2 == 0) return;
  for (std::int64_t c = 0; c < some; ++c) rest[2 * c] = part.data[(rows - 1) * from.row + c * from.column];
}

void PairLayout::pack_rows(const MatrixView<BFloat16>& from, BFloat16* to, std::int64_t some) const {
  for (std::int64_t p = 0; p < rows / 2; ++p) {
    const BFloat16* even = from.data + 2 * p * from.row;
    product_kernels().pair(even, even + from.row, to + p * width * 2, some);
  }
}

// A pair is a word: words are transposed.
void PairLayout::pack_columns(const MatrixView<BFloat16>& from, BFloat16* to, std::int64_t some) const {
  constexpr std::int64_t kPairs = transpose_rows(4), kColumns = transpose_columns(4);
  const std::int64_t whole = rows / 2;
  if (from.column % 2 == 0 && reinterpret_cast<std::uintptr_t>(from.data) % 4 == 0) {
    for (std::int64_t c = 0; c < some; c += kColumns)
      for (std::int64_t p = 0; p < whole; p += kPairs)
        transpose_kernels().of_size[2](
            reinterpret_cast<const std::byte*>(from.data + c * from.column + 2 * p), from.column / 2,
            reinterpret_cast<std::byte*>(to + (p * width + c) * 2), width, std::min(kPairs, whole - p),
            std::min(kColumns, some - c), false);
    return;
  }
  for (std::int64_t c = 0; c < some; ++c)
    for (std::int64_t p = 0; p < whole; ++p)
      std::memcpy(to + (p * width + c) * 2, from.data + c * from.column + 2 * p, 2 * sizeof(BFloat16));
}

}  // namespace kiln::cpu::onednn
