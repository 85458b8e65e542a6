#include "tensor/cuda/backend.h"

#include <array>
#include <memory>
#include <mutex>

#include "tensor/cpu/backend.h"
#include "tensor/cuda/context.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/on_host.h"
#include "tensor/cuda/refusal.h"
#include "tensor/cuda/repeated_call.h"
#include "tensor/transfer.h"

namespace kiln::cuda {
namespace {

void add_transfer(Kernels& kernels) { kernels.add("transfer", transfer_elements); }

class Cuda final : public Backend {
 public:
  explicit Cuda(Device device) : Backend(column()), stream_{device} {}

  Stream& stream() override {
    stream_.handle = Context::of(stream_.device).stream_itself();
    return stream_;
  }
  std::unique_ptr<kiln::RepeatedCall> repeated_call() override {
    return std::make_unique<RepeatedCall>(stream_.device);
  }
  void synchronize(Stream& stream) override { Context::of(stream.device).synchronize(); }

 private:
  Stream stream_;
};

}  // namespace

const Kernels& column() {
  static const Kernels all = [] {
    Kernels made;
    add_transfer(made);
    add_pointwise_kernels(made);
    add_copy_kernels(made);
    add_create_kernels(made);
    add_fold_kernels(made);
    add_scan_kernels(made);
    add_random_kernels(made);
    add_pooling_kernels(made);
    add_convolution_kernels(made);
    add_attention_kernels(made);
    add_sorting_kernels(made);
    add_choice_kernels(made);
    add_unique_kernels(made);
    add_shuffle_kernels(made);
    add_move_kernels(made);
    add_gather_kernels(made);
    add_scatter_kernels(made);
    add_counting_kernels(made);
    add_product_kernels(made);
    cpu::add_collective_kernels(made);
    add_kernels_on_host(made);
    return made;
  }();
  return all;
}

Backend* backend_of(Device device) {
  const auto index = static_cast<std::size_t>(device.index);
  if (index >= kMostCards || refusal_of(device)) return nullptr;
  static auto* const all = new std::array<std::unique_ptr<Cuda>, kMostCards>;
  static auto* const making = new std::mutex;
  const std::lock_guard lock(*making);
  std::unique_ptr<Cuda>& place = (*all)[index];
  if (place == nullptr) place = std::make_unique<Cuda>(device);
  return place.get();
}

}  // namespace kiln::cuda
