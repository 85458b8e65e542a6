// Owns how the kernels of row programs read rows and write them. Included only by files that are compiled
// once per instruction set.
#pragma once

#include <algorithm>
#include <memory>

#include "tensor/cpu/folds/row_job.h"
#include "tensor/cpu/isa/wide_load.h"
#include "tensor/integers.h"

namespace kiln::cpu::KILN_ISA {

// The rows of a job as accumulators: in place, or, when they are narrow elements, in scratch memory. There
// they are padded to whole vectors, so that loops over `count` elements need no scalar rest.
template <class E>
class Rows {
 public:
  using A = AccumulatorOf<E>;

  explicit Rows(const RowJob& job, A padding = 0)
      : job_(job), count_(kCopies ? round_up(job.size, kPad) : job.size) {
    if (!kCopies) return;
    const std::int64_t page = round_up(count_ * kItem, kPage);
    stride_ = (page + kApart) / kItem;
    scratch_.reset(new Line[static_cast<std::size_t>(stride_ * kScratchRows * kItem) / sizeof(Line)]);
    std::fill_n(scratch(0), stride_ * kScratchRows, padding);
    for (int k = 0; k < 2; ++k)
      if (job.column[k]) widen_to(job.column[k], scratch(3 + k));
  }
  std::int64_t count() const { return count_; }

  const A* in(int k, std::int64_t row) {
    const std::byte* from = element(k, row);
    if (!kCopies) return reinterpret_cast<const A*>(from);
    widen_to(from, scratch(k));
    return scratch(k);
  }
  // Null when absent.
  const A* column(int k) {
    if (!kCopies || job_.column[k] == nullptr) return reinterpret_cast<const A*>(job_.column[k]);
    return scratch(3 + k);
  }
  void set_row(int k, std::int64_t r, A value) const {
    if (job_.row_out[k]) reinterpret_cast<A*>(job_.row_out[k])[r] = value;
  }
  // Where the result of a row is computed; `finish` takes it to its place.
  A* out(std::int64_t row) { return kCopies ? scratch(2) : reinterpret_cast<A*>(job_.out) + row * job_.size; }
  void finish([[maybe_unused]] std::int64_t row) {
    if constexpr (kCopies)
      narrow_all(scratch(2), job_.size, reinterpret_cast<E*>(job_.out) + row * job_.size);
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  static constexpr bool kCopies = !std::is_same_v<E, A>;
  static constexpr std::int64_t kItem = sizeof(A);
  static constexpr std::int64_t kScratchRows = 5;
  static constexpr std::int64_t kPad = 16;
  // Rows in scratch memory begin at places of a page far from each other's: a load just ahead of a store in
  // another row would wait for it if both had the same place.
  static constexpr std::int64_t kPage = 4096, kApart = 21 * 64;

  const std::byte* element(int k, std::int64_t row) const {
    return job_.in[k] + row * job_.size * static_cast<std::int64_t>(sizeof(E));
  }
  A* scratch(int k) { return reinterpret_cast<A*>(scratch_.get()) + k * stride_; }
  void widen_to([[maybe_unused]] const std::byte* from, [[maybe_unused]] A* to) const {
    if constexpr (kCopies) widen_all(reinterpret_cast<const E*>(from), job_.size, to);
  }
  const RowJob& job_;
  std::int64_t count_;       // elements of a row, with the padding
  std::int64_t stride_ = 0;  // between rows in scratch memory
  std::unique_ptr<Line[]> scratch_;
};

}  // namespace kiln::cpu::KILN_ISA
