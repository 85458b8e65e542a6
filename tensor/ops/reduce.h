// Owns the parts of the reduce family: each adds its rows in one file.
#pragma once

#include "tensor/op.h"

namespace kiln {

// What elements become before they are combined: `dtype=` converts them first, but for halves, integers and
// bools whose accumulator holds the result.
DType combined_dtype(DType x, DType result);

// The dtype of sums, products and scans: bools and integers become i64 unless `dtype=` asks otherwise.
DType total_dtype(DType x, const Attrs& attrs);
// The type of a sum: its dtype, and the sizes that `dim` and `keepdim` leave.
std::vector<TensorType> infer_total(std::span<const TensorType> in, const Attrs& attrs);

void add_fold_ops(OpTable& table);              // reduce.cpp: sum prod mean amax amin any all count_nonzero
void add_nan_sum_op(OpTable& table);            // nan_sum.cpp: nansum
void add_extremum_ops(OpTable& table);          // extremum.cpp: max min and their forms, argmax argmin
void add_moment_ops(OpTable& table);            // moments.cpp: var std norm logsumexp
void add_scan_ops(OpTable& table);              // scan.cpp: cumsum cumprod
void add_running_extremum_ops(OpTable& table);  // running_extremum.cpp: cummax cummin
void add_softmax_ops(OpTable& table);  // softmax.cpp: softmax log_softmax and their derivatives' kernels

// The parts of the nn family.
void add_loss_ops(OpTable& table);             // losses.cpp: losses of numbers against numbers
void add_class_loss_ops(OpTable& table);       // cross_entropy.cpp: nll_loss, cross_entropy
void add_norm_ops(OpTable& table);             // norms.cpp: layer_norm rms_norm
void add_batch_norm_ops(OpTable& table);       // batch_norm.cpp
void add_group_norm_ops(OpTable& table);       // group_norm.cpp
void add_channel_affine_ops(OpTable& table);   // channel_affine.cpp
void add_convolution_ops(OpTable& table);      // convolution.cpp: the primitives of convolutions
void add_conv_ops(OpTable& table);             // conv.cpp: conv1d conv2d and the transposed ones
void add_max_pool_ops(OpTable& table);         // max_pool.cpp
void add_average_pool_ops(OpTable& table);     // average_pool.cpp
void add_attention_op(OpTable& table);         // attention.cpp: scaled_dot_product_attention
void add_flash_attention_ops(OpTable& table);  // flash_attention.cpp: flash_attention and its derivative

}  // namespace kiln
