// Owns how kernels tell of elements that an op refuses. A kernel goes on beside the program: what it meets is
// seen when the host next waits for the card, and told as the error of the op that met it, at that op's
// place.
#pragma once

#include <cstdint>
#include <functional>

#include "tensor/cuda/context.h"
#include "tensor/error.h"

namespace kiln::cuda {

// Of a launch that may meet such elements: it lowers `word` to (launch << kDetailBits | detail), so that the
// first launch and the lowest detail count.
struct FaultTicket {
  const std::uint64_t* word;  // of the host, which the card reaches
  std::uint64_t launch;
};
inline constexpr int kDetailBits = 40;

// Announces a launch. `refusal` makes the error, from the detail.
FaultTicket expect_fault(Context& context, std::function<OpError(std::int64_t detail)> refusal);

// After a launch was given to the stream: where the program awaits what was announced, so does this.
void wait_where_awaited(Context& context);

// After waiting: throws the error of the first launch that met something (tensor/delayed_error.h). `is_done`:
// the card has done all that it was given.
void check_faults(Context& context, bool is_done);

}  // namespace kiln::cuda
