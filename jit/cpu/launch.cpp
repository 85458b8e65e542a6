#include "jit/cpu/launch.h"

#include <algorithm>
#include <cmath>

#include "tensor/error.h"
#include "tensor/parallel.h"

namespace kiln::jit {

void Pieces::add(const ElementRun& run, std::int64_t count, std::int64_t unit, std::int64_t grain,
                 bool rest_apart) {
  work_ += static_cast<double>(count) / static_cast<double>(grain);
  elements_ += count;
  const std::int64_t length = std::max<std::int64_t>(grain / unit, 1) * unit;
  const std::int64_t whole = rest_apart ? count / unit * unit : count;
  for (std::int64_t begin = 0; begin < whole; begin += length)
    pieces_.push_back({&run, begin, std::min(begin + length, whole)});
  if (whole < count) pieces_.push_back({&run, whole, count});
}

void Pieces::run() const {
  const auto count = static_cast<std::int64_t>(pieces_.size());
  const bool alone = work_ < kLittleWork && elements_ < kFewElements;
  const std::int64_t grain =
      alone ? count : static_cast<std::int64_t>(std::ceil(static_cast<double>(count) / std::max(work_, 1.0)));
  const HeldInterrupts whole;
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      pieces_[i].of->piece(pieces_[i].begin, pieces_[i].end);
  });
}

void Launch::add(const ElementwiseKernel& kernel, Inputs inputs, const Dims& symbols,
                 std::span<Tensor> outputs) {
  calls_.push_back({kernel.prepare(inputs, symbols, outputs), kernel.grain()});
}

void Launch::run() {
  Pieces pieces(calls_.size());
  for (const Call& each : calls_) {
    const std::int64_t unit = std::max(each.ready.run.unit(each.grain), kVector);
    pieces.add(each.ready.run, each.ready.count, unit, each.grain, false);
  }
  pieces.run();
}

}  // namespace kiln::jit
