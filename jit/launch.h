// Owns a launch: many kernels that do not depend on each other, run as one.
#pragma once

#include <vector>

#include "jit/elementwise_kernel.h"

namespace kiln::jit {

// There is one launch in a call, whose threads may be asleep by then: waking them takes longer than little
// work, in pieces of a kernel's grain, on few elements.
inline constexpr double kLittleWork = 32;
inline constexpr std::int64_t kFewElements = 1 << 17;

// First all calls are made ready, which may fail; then all their elements are computed, on all threads, which
// may not: so kernels may write over what the caller has.
class Launch {
 public:
  explicit Launch(std::size_t calls) { calls_.reserve(calls); }
  // As ElementwiseKernel::prepare. Throws what that does; the caller holds `inputs` and `outputs`.
  void add(const ElementwiseKernel& kernel, Inputs inputs, const Dims& symbols, std::span<Tensor> outputs);
  void run();

 private:
  struct Call {
    ElementwiseKernel::Ready ready;
    std::int64_t grain;
  };
  struct Piece {
    const ElementwiseKernel::Ready* of;
    std::int64_t begin, end;
  };
  SmallVector<Piece, 8> pieces() const;

  std::vector<Call> calls_;
  double work_ = 0;  // in pieces that are worth a thread which is awake
  std::int64_t elements_ = 0;
};

}  // namespace kiln::jit
