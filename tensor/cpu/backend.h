// Owns the CPU as a device: its memory, and its column of the op table. Each family's file of kernels adds
// those of its rows.
#pragma once

#include <memory>
#include <vector>

#include "tensor/backend.h"

namespace kiln::cpu {

class GatherReader;  // tensor/cpu/moves/gather_reader.h
class ResultPieces;  // tensor/cpu/products/result_pieces.h

// The op's result for these inputs, to be read a stretch at a time. All inputs but indices have the result's
// dtype. Throws what the kernel throws.
using GatherReaderFn = std::unique_ptr<const GatherReader> (*)(Inputs inputs, const Attrs& attrs);
// As the kernel of the op, handing out results of f32 and f64 piece by piece while they are in cache.
using PiecesFn = void (*)(const Op& op, Inputs inputs, const Attrs& attrs, ResultPieces& pieces);

// The CPU's kernels, and what its compiled loops call beside them.
class Column final : public Kernels {
 public:
  Column();

  // Of rows that lower to `lowering::Gather`, and of some that lower to `lowering::Library`.
  void add_reader(std::string_view name, GatherReaderFn reader);
  void add_pieces(std::string_view name, PiecesFn pieces);
  // Null where there is none.
  GatherReaderFn reader_of(const Op& op) const { return calls_[static_cast<std::size_t>(op.id)].reader; }
  PiecesFn pieces_of(const Op& op) const { return calls_[static_cast<std::size_t>(op.id)].pieces; }

 private:
  struct LoopCalls {
    GatherReaderFn reader = nullptr;
    PiecesFn pieces = nullptr;
  };
  std::vector<LoopCalls> calls_;
};
const Column& column();
Backend& backend();

void add_pointwise_kernels(Column& column);     // elementwise/pointwise.cpp
void add_copy_kernels(Column& column);          // elementwise/copy_kernels.cpp
void add_view_scatter_kernels(Column& column);  // elementwise/view_scatter.cpp
void add_create_kernels(Column& column);        // elementwise/create.cpp
void add_joining_kernels(Column& column);       // moves/joining.cpp
void add_pad_kernel(Column& column);            // moves/pad.cpp
void add_triangle_kernels(Column& column);      // moves/triangle.cpp
// moves/collectives.cpp: they hand tensors on, of whatever device.
void add_collective_kernels(Kernels& kernels);
void add_counting_kernels(Column& column);          // moves/counting.cpp
void add_index_kernels(Column& column);             // moves/index_kernels.cpp
void add_scatter_reduce_kernels(Column& column);    // moves/scatter_reduce.cpp
void add_random_kernels(Column& column);            // random/draw_kernels.cpp
void add_advanced_index_kernels(Column& column);    // order/advanced_index.cpp
void add_sort_kernels(Column& column);              // order/sort_kernels.cpp
void add_unique_kernels(Column& column);            // order/unique.cpp
void add_fold_kernels(Column& column);              // folds/fold_rows.cpp
void add_extremum_kernels(Column& column);          // folds/extremum_rows.cpp
void add_moment_kernels(Column& column);            // folds/moments.cpp
void add_scan_kernels(Column& column);              // folds/scan.cpp
void add_running_extremum_kernels(Column& column);  // order/running_extremum.cpp
void add_softmax_kernels(Column& column);           // folds/softmax.cpp
void add_norm_kernels(Column& column);              // folds/norms.cpp
void add_batch_norm_kernels(Column& column);        // folds/batch_norm.cpp
void add_group_norm_kernels(Column& column);        // folds/group_norm.cpp
void add_channel_affine_kernels(Column& column);    // folds/channel_affine.cpp
void add_class_loss_kernels(Column& column);        // folds/class_loss.cpp
void add_pooling_kernels(Column& column);           // convolution/pooling_rows.cpp
void add_linalg_kernels(Column& column);            // linalg/linalg_rows.cpp
void add_fourier_kernels(Column& column);           // fourier/fourier_rows.cpp
void add_product_kernels(Column& column);           // products/product_rows.cpp
void add_convolution_kernels(Column& column);       // convolution/convolution_rows.cpp

}  // namespace kiln::cpu
