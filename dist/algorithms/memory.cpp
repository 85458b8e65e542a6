#include "dist/algorithms/memory.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "dist/algorithms/scale.h"
#include "tensor/host_view.h"

namespace kiln::dist {

Tensor HostMemory::made(const Dims& sizes, DType dtype) { return Tensor::empty(sizes, dtype, Device{}); }

Bytes HostMemory::output(const Tensor& made) {
  const WritableHostView view(made);  // of the host's own memory, which stays
  return {view.bytes(), view.byte_count()};
}

Room HostMemory::room(std::size_t bytes) {
  auto memory = std::make_shared_for_overwrite<std::byte[]>(bytes);
  std::byte* const first = memory.get();
  return {std::move(memory), {first, bytes}};
}

void HostMemory::copy(ConstBytes from, std::byte* to) {
  if (!from.empty() && from.data() != to) std::memcpy(to, from.data(), from.size());
}

void HostMemory::clear(Bytes out) { std::ranges::fill(out, std::byte{}); }

void HostMemory::scale(DType from, ConstBytes in, DType to, Bytes out, double factor) {
  dist::scale(from, in, to, out, factor);
}

void HostMemory::fill_neutral(DType dtype, kiln::ReduceOp op, Bytes out) {
  dist::fill_neutral(dtype, op, out);
}

void HostMemory::reduce(DType dtype, ReduceOp op, const MemberValues& values, std::byte* output,
                        std::size_t elements) {
  std::vector<const std::byte*> inputs(values.count);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    inputs[k] = k == values.me ? values.own : values.others + k * elements * size_of(dtype);
  reduce_in_order(dtype, op, inputs, output, elements);
}

Memory& host_memory() {
  static HostMemory memory;
  return memory;
}

}  // namespace kiln::dist
