// Owns how a rank performs what all ranks agreed on: buffers, factors, and the algorithm of each collective.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dist/algorithms/group.h"
#include "dist/controller/agreement.h"
#include "tensor/host_view.h"
#include "tensor/tensor.h"

namespace kiln::cuda {
class Event;
}

namespace kiln::dist {

/// The elements of a tensor as they were when the collective was submitted: writes into the tensor after that
/// go elsewhere. Those of a card stay there, and are there when `ready` has come; elements of other devices
/// come to the host.
class Submitted {
 public:
  /// `has_like_result`: the result is a tensor of the same type. On a card its memory is taken now, so that
  /// the card need not do first what the program gives it until the ranks have agreed.
  Submitted(Tensor tensor, bool has_like_result);
  ~Submitted();
  Submitted(const Submitted&) = delete;
  Submitted& operator=(const Submitted&) = delete;

  ConstBytes bytes() const { return bytes_; }
  /// Null where the elements are there already.
  const cuda::Event* ready() const { return ready_.get(); }
  /// Memory for the result; absent where none was taken.
  const Tensor& result() const { return result_; }

 private:
  void take_on_card(bool has_like_result);

  Tensor tensor_;
  Ref<Buffer> buffer_;  // a buffer that is held is not written into
  std::optional<HostView> view_;
  ConstBytes bytes_;
  std::unique_ptr<cuda::Event> ready_;
  Tensor result_;
};

/// One collective of this rank. Of a rank that has joined `inputs` is empty.
struct Work {
  const Agreement* agreement = nullptr;
  std::vector<std::shared_ptr<const Submitted>> inputs;
  std::int64_t total = 0;  // of alltoall: rows of the result, if there are to be more than arrive
  // Set by `perform`, where the inputs are, but for what alltoall counts, which the host has. None of a rank
  // that has joined.
  std::vector<Tensor> outputs;
};

/// The members of what all of these are, and this rank among them.
Group group_of(Transport& transport, const Agreement& agreement, std::uint64_t tag);

/// Performs collectives that share one buffer, which are one unless they are allreduces. The tag of the group
/// is theirs alone. Throws what the transport throws, and OpError (OutOfMemory).
void perform(const Group& group, std::span<Work> works);

}  // namespace kiln::dist
