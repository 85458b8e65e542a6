#include "tensor/cuda/on_host.h"

#include "tensor/cpu/backend.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/view.h"

namespace kiln::cuda {
namespace {

const Kernel& of_host(const Op& op) { return cpu::column().of(op); }
Stream& stream_of_host() { return cpu::backend().stream(); }

// With all of the storage where the op speaks of its places.
Tensor to_host(const Op& op, const Tensor& x) {
  if (!x || x.is_number() || is_on_host(x.device())) return x;
  if (!op.has(kCountsPlaces)) return copied_to_host(x);
  const Buffer& all = *x.storage()->buffer();
  Ref<Buffer> copy = Buffer::allocate(all.bytes(), Device{});
  copy_bytes(*copy, 0, all, 0, all.bytes());
  return Tensor::from_storage(Storage::create(std::move(copy)), x.layout(), x.dtype());
}

SmallVector<Tensor, 4> to_host(const Op& op, Inputs inputs) {
  SmallVector<Tensor, 4> on_host;
  on_host.reserve(inputs.size());
  for (const Tensor& each : inputs) on_host.push_back(to_host(op, each));
  return on_host;
}

// What the host computes a result into. A result that does not lie in order may have elements of other
// tensors between its own.
Tensor memory_for(const Op& op, const Tensor& output) {
  return output.is_contiguous() && !op.has(kCountsPlaces)
             ? Tensor::empty(output.sizes(), output.dtype(), Device{})
             : to_host(op, output);
}

void put_back(const Op& op, const Tensor& output, const Tensor& computed) {
  output.raw_writable();  // memory that no saved value holds, and one write more
  const Buffer& to = *output.storage()->buffer();
  const Buffer& from = *computed.storage()->buffer();
  if (op.has(kCountsPlaces)) return copy_bytes(to, 0, from, 0, to.bytes());
  const auto [first, end] = extent(output.layout());
  const std::size_t item = size_of(output.dtype());
  copy_bytes(to, static_cast<std::size_t>(first) * item, from, 0,
             static_cast<std::size_t>(end - first) * item);
}

void compute(KernelFn kernel, const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs) {
  const SmallVector<Tensor, 4> operands = to_host(op, inputs);
  Tensors computed;
  computed.reserve(outputs.size());
  for (const Tensor& each : outputs) computed.push_back(memory_for(op, each));
  kernel(op, attrs, {operands.data(), operands.size()}, {computed.data(), computed.size()}, stream_of_host());
  for (std::size_t i = 0; i < outputs.size(); ++i) put_back(op, outputs[i], computed[i]);
}

void run_on_host(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  compute(of_host(op).run, op, attrs, inputs, outputs);
}
void run_counted_on_host(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  compute(of_host(op).run_counted, op, attrs, inputs, outputs);
}

CountedOutputs count_on_host(const Op& op, const Attrs& attrs, Inputs inputs, Stream& stream) {
  const SmallVector<Tensor, 4> operands = to_host(op, inputs);
  CountedOutputs counted = of_host(op).count(op, attrs, {operands.data(), operands.size()}, stream_of_host());
  for (TensorType& each : counted.types) each.device = stream.device;
  return counted;
}

Tensors give_on_host(const Op& op, const Attrs& attrs, Inputs inputs, Stream& stream) {
  const SmallVector<Tensor, 4> operands = to_host(op, inputs);
  Tensors results = of_host(op).give(op, attrs, {operands.data(), operands.size()}, stream_of_host());
  for (Tensor& each : results) each = ops::to(each, stream.device);
  return results;
}

}  // namespace

void add_kernel_on_host(Kernels& kernels, const Op& op, std::string_view reason) {
  const Kernel& host = of_host(op);
  kernels.add(op, {.run = host.run == nullptr ? nullptr : run_on_host,
                   .takes = host.takes,
                   .count = host.count == nullptr ? nullptr : count_on_host,
                   .run_counted = host.run_counted == nullptr ? nullptr : run_counted_on_host,
                   .give = host.give == nullptr ? nullptr : give_on_host,
                   .is_direct = host.is_direct,
                   .on_host = reason});
}

void add_kernels_on_host(Kernels& kernels) {
  for (const Op* const op : OpTable::get().ops()) {
    const Kernel& host = of_host(*op);
    if (kernels.of(*op) || !kernels.of(*op).missing.empty()) continue;
    if (!host.missing.empty()) kernels.none(op->name(), host.missing);
    if (host && op->decompose == nullptr)
      add_kernel_on_host(kernels, *op, "CUDA has no kernel for it, so the host computes it");
  }
}

}  // namespace kiln::cuda
