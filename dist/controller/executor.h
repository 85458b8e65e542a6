// Owns how a rank performs what all ranks agreed on: buffers, factors, and the algorithm of each collective.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dist/controller/agreement.h"
#include "dist/transport/transport.h"
#include "tensor/host_view.h"
#include "tensor/tensor.h"

namespace kiln::dist {

/// The elements of a tensor as they were when the collective was submitted: writes into the tensor after that
/// go elsewhere.
class Submitted {
 public:
  explicit Submitted(Tensor tensor)
      : tensor_(std::move(tensor)), buffer_(tensor_.storage()->buffer()), view_(tensor_, tensor_.dtype()) {}
  std::span<const std::byte> bytes() const { return {view_.bytes(), view_.byte_count()}; }
  Device device() const { return tensor_.device(); }

 private:
  Tensor tensor_;
  Ref<Buffer> buffer_;  // a buffer that is held is not written into
  HostView view_;
};

/// One collective of this rank. Of a rank that has joined `inputs` is empty.
struct Work {
  const Agreement* agreement = nullptr;
  std::vector<std::shared_ptr<const Submitted>> inputs;
  std::int64_t total = 0;       // of alltoall: rows of the result, if there are to be more than arrive
  std::vector<Tensor> outputs;  // set by `perform`, on the CPU; none of a rank that has joined
};

/// Performs collectives that share one buffer, which are one unless they are allreduces. `tag` is theirs
/// alone. Throws what the transport throws, and OpError (OutOfMemory).
void perform(Transport& transport, std::uint64_t tag, std::span<Work> works);

}  // namespace kiln::dist
