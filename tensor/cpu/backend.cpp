#include "tensor/cpu/backend.h"

#include <cstring>

#include "tensor/memory.h"

namespace kiln::cpu {
namespace {

// Does all within the call: the host reads and writes the same memory.
class Cpu final : public Backend {
 public:
  Cpu() : Backend(column()) {}

  std::byte* allocate(std::size_t bytes, Stream&) override {
    return static_cast<std::byte*>(memory::take_block(bytes));
  }
  void free(std::byte* data, std::size_t bytes, Stream&) override { memory::give_block(data, bytes); }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream&) override {
    if (bytes > 0) std::memmove(to, from, bytes);
  }
  void copy_from_host(std::byte* to, const std::byte* from, std::size_t bytes, Stream& stream) override {
    copy(to, from, bytes, stream);
  }
  void copy_to_host(std::byte* to, const std::byte* from, std::size_t bytes, Stream& stream) override {
    copy(to, from, bytes, stream);
  }
  void fill(std::byte* data, std::byte value, std::size_t bytes, Stream&) override {
    if (bytes > 0) std::memset(data, static_cast<int>(value), bytes);
  }
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
                                add_product_kernels,
                                add_convolution_kernels})
    add_family(*this);
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
