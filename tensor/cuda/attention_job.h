// Owns what a kernel of attention is given for operands of any layout, and which form of the kernel it is.
#pragma once

#include <optional>

#include "tensor/cuda/context.h"
#include "tensor/cuda/kernels/attention_job.h"
#include "tensor/tensor.h"

namespace kiln::cuda {

// Queries [..., l, e], keys [..., s, e] and values [..., s, v], which broadcast to `leading` before l and s,
// as does the mask [..., l, s], or absent. grad [..., l, v], or absent.
struct AttentionOperands {
  Tensor query, key, value, mask, grad;
  Dims leading;

  std::int64_t features() const { return query.size(query.rank() - 1).fixed(); }
  std::int64_t widths() const { return value.size(value.rank() - 1).fixed(); }
};

// A job without results, and the tensors that its operands are in, which may be copies.
struct AttentionCall {
  AttentionJob job{};
  Tensors operands;
  Dims apart;  // `leading`, with 1 along what is alike
};
// `finds_alike`: should those be found that have the same keys and values?
AttentionCall attention_call(const AttentionOperands& operands, bool finds_alike);

// How a kernel is cut: warps of a block, columns of the tiles that pass, bytes of shared memory.
struct AttentionForm {
  DType dtype{};
  bool by_units = false;  // by the matrix units
  std::int64_t features = 0, widths = 0, warps = 0, columns = 0, bytes = 0;

  bool is_wide() const { return dtype == DType::F64; }  // are sums in f64?
};
// `staying`: how many kinds of tiles stay in shared memory, 1 or 2. Nothing where the card has too little of
// it.
std::optional<AttentionForm> attention_form(const Context& context, const AttentionOperands& operands,
                                            int staying);

}  // namespace kiln::cuda
