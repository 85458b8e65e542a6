// Owns the layout in which oneDNN's products of bf16 read their right matrix: pairs of rows side by side.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/cpu/products/onednn.h"
#include "tensor/cpu/products/product_kernels.h"
#include "tensor/integers.h"

namespace kiln::cpu::onednn {

// Blocks of `width` columns, each with all rows: the two elements of a column in rows 2 p and 2 p + 1 are
// neighbours, and so are columns. Both sizes are filled up with zeros.
struct PairLayout {
  std::int64_t rows, columns;        // of the matrix
  std::int64_t pairs, width, block;  // pairs of rows, with the padding; columns and elements of a block
  std::int64_t blocks() const { return ceil_divide(columns, width); }

  // Brings a block of the columns of a matrix, whose rows or columns are contiguous, into the layout of it
  // all.
  void pack(std::int64_t number, const MatrixView<BFloat16>& from, BFloat16* to) const;

 private:
  void pack_rows(const MatrixView<BFloat16>& from, BFloat16* to, std::int64_t some) const;
  void pack_columns(const MatrixView<BFloat16>& from, BFloat16* to, std::int64_t some) const;
};

// Nothing when a layout is another one.
std::optional<PairLayout> pair_layout(const dnnl_memory_desc_t& layout);

}  // namespace kiln::cpu::onednn
