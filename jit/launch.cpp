#include "jit/launch.h"

#include <algorithm>
#include <cmath>

#include "tensor/error.h"
#include "tensor/parallel.h"

namespace kiln::jit {

void Launch::add(const ElementwiseKernel& kernel, Inputs inputs, const Dims& symbols,
                 std::span<Tensor> outputs) {
  calls_.push_back({kernel.prepare(inputs, symbols, outputs), kernel.grain()});
  work_ += static_cast<double>(calls_.back().ready.count) / static_cast<double>(kernel.grain());
  elements_ += calls_.back().ready.count;
}

// None longer than is worth a thread, and all but the last of a call whole vectors.
SmallVector<Launch::Piece, 8> Launch::pieces() const {
  SmallVector<Piece, 8> pieces;
  pieces.reserve(calls_.size());
  for (const Call& each : calls_) {
    const std::int64_t unit = std::max(each.ready.run.unit(each.grain), kVector);
    const std::int64_t length = each.grain / unit * unit;
    for (std::int64_t begin = 0; begin < each.ready.count; begin += length)
      pieces.push_back({&each.ready, begin, std::min(begin + length, each.ready.count)});
  }
  return pieces;
}

void Launch::run() {
  const SmallVector<Piece, 8> all = pieces();
  const auto count = static_cast<std::int64_t>(all.size());
  const bool alone = work_ < kLittleWork && elements_ < kFewElements;
  const std::int64_t grain =
      alone ? count : static_cast<std::int64_t>(std::ceil(static_cast<double>(count) / std::max(work_, 1.0)));
  SmallVector<std::uint8_t, 64> done(all.size(), 0);
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      if (done[i] == 0) all[i].of->run.piece(all[i].begin, all[i].end);
      done[i] = 1;
    }
  };
  try {
    parallel_for(count, grain, run);
  } catch (const OpError&) {  // Ctrl-C: some tensors are written over already, so all must be
    run(0, count);
  }
}

}  // namespace kiln::jit
