#include "tensor/cpu/backend.h"

namespace kiln::cpu {
namespace {

// Does all within the call.
class Cpu final : public Backend {
 public:
  Cpu() : Backend(column()) {}

  void synchronize(Stream&) override {}
  Stream& stream() override { return stream_; }

 private:
  Stream stream_{};
};

}  // namespace

Column::Column() : calls_(OpTable::get().ops().size()) {
  for (const auto add_family : {add_pointwise_kernels,
                                add_copy_kernels,
                                add_view_scatter_kernels,
                                add_create_kernels,
                                add_joining_kernels,
                                add_pad_kernel,
                                add_triangle_kernels,
                                add_counting_kernels,
                                add_index_kernels,
                                add_scatter_reduce_kernels,
                                add_random_kernels,
                                add_advanced_index_kernels,
                                add_sort_kernels,
                                add_unique_kernels,
                                add_fold_kernels,
                                add_extremum_kernels,
                                add_moment_kernels,
                                add_scan_kernels,
                                add_running_extremum_kernels,
                                add_softmax_kernels,
                                add_norm_kernels,
                                add_batch_norm_kernels,
                                add_group_norm_kernels,
                                add_channel_affine_kernels,
                                add_class_loss_kernels,
                                add_pooling_kernels,
                                add_linalg_kernels,
                                add_fourier_kernels,
                                add_product_kernels,
                                add_convolution_kernels})
    add_family(*this);
  add_collective_kernels(*this);
}

void Column::add_reader(std::string_view name, GatherReaderFn reader) {
  calls_[static_cast<std::size_t>(OpTable::get().at(name).id)].reader = reader;
}

void Column::add_pieces(std::string_view name, PiecesFn pieces) {
  calls_[static_cast<std::size_t>(OpTable::get().at(name).id)].pieces = pieces;
}

const Column& column() {
  static const Column column;
  return column;
}

Backend& backend() {
  static Cpu cpu;
  return cpu;
}

}  // namespace kiln::cpu
