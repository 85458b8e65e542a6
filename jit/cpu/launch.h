// Owns a launch: many kernels that do not depend on each other, run as one.
#pragma once

#include <vector>

#include "jit/cpu/elementwise_kernel.h"

namespace kiln::jit {

// There is one launch in a call, whose threads may be asleep by then: waking them takes longer than little
// work, in pieces of a kernel's grain, on few elements.
inline constexpr double kLittleWork = 32;
inline constexpr std::int64_t kFewElements = 1 << 17;

// Elements of kernels that may be computed at once.
class Pieces {
 public:
  explicit Pieces(std::size_t kernels = 0) { pieces_.reserve(kernels); }
  // Elements [0, count) of what the caller holds, in pieces that are multiples of `unit` and none longer than
  // `grain`, if that is more; what is left is a piece of its own, or of the last one.
  void add(const ElementRun& run, std::int64_t count, std::int64_t unit, std::int64_t grain, bool rest_apart);
  // On all threads, or on this one when that is less work than to wake them. All of them, however often
  // somebody asks to stop: some tensors may be written over by then.
  void run() const;

 private:
  struct Piece {
    const ElementRun* of;
    std::int64_t begin, end;
  };
  SmallVector<Piece, 8> pieces_;
  double work_ = 0;  // in pieces that are worth a thread which is awake
  std::int64_t elements_ = 0;
};

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

  std::vector<Call> calls_;
};

}  // namespace kiln::jit
