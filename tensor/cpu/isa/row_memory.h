// Owns how the kernels of row programs read rows and write them. Included only by files that are compiled
// once per instruction set.
#pragma once

#include <algorithm>
#include <memory>

#include "tensor/cpu/isa/wide_load.h"
#include "tensor/cpu/prefetch.h"
#include "tensor/cpu/row_job.h"

namespace kiln::cpu::KILN_ISA {

// The rows of a job as accumulators: in place, or, when they are narrow elements or short, in scratch memory.
// There they are padded to whole vectors, so that loops over `count` elements need no scalar rest.
template <class E>
class Rows {
 public:
  using A = AccumulatorOf<E>;

  explicit Rows(const RowJob& job, A padding = 0)
      : job_(job),
        copies_(!std::is_same_v<E, A> || job.size <= kShort),
        count_(copies_ ? (job.size + kPad - 1) / kPad * kPad : job.size) {
    if (!copies_) return;
    const std::int64_t page = (count_ * kItem + kPage - 1) / kPage * kPage;
    stride_ = (page + kApart) / kItem;
    scratch_.reset(new Line[static_cast<std::size_t>(stride_ * kScratchRows * kItem) / sizeof(Line)]);
    std::fill_n(scratch(0), stride_ * kScratchRows, padding);
    for (int k = 0; k < 2; ++k)
      if (job.column[k]) widen_to(job.column[k], scratch(3 + k));
  }
  std::int64_t count() const { return count_; }

  const A* in(int k, std::int64_t row) {
    const std::byte* from = element(k, row);
    if (!copies_) return reinterpret_cast<const A*>(from);
    widen_to(from, scratch(k));
    return scratch(k);
  }
  // Asks for `count` elements from `at` of a row that is next, and for where its result goes, which is read
  // before it is written: so memory is at work while this one is computed. Rows that would push each other
  // out of the cache are left to themselves.
  void prefetch(std::int64_t row, std::int64_t at, std::int64_t count) const {
    constexpr std::int64_t kLongest = (1 << 16) / sizeof(E);
    if (job_.size > kLongest) return;
    for (int k = 0; k < 2 && job_.in[k] != nullptr; ++k) prefetch_bytes(element(k, row), at, count);
    prefetch_bytes(job_.out + row * job_.size * static_cast<std::int64_t>(sizeof(E)), at, count);
  }
  // What `in` gave for this row last.
  const A* now(int k, std::int64_t row) {
    return copies_ ? scratch(k) : reinterpret_cast<const A*>(element(k, row));
  }
  // Null when absent.
  const A* column(int k) {
    if (!copies_ || job_.column[k] == nullptr) return reinterpret_cast<const A*>(job_.column[k]);
    return scratch(3 + k);
  }
  void set_row(int k, std::int64_t r, A value) const {
    if (job_.row_out[k]) reinterpret_cast<A*>(job_.row_out[k])[r] = value;
  }
  // Where the result of a row is computed; `finish` takes it to its place.
  A* out(std::int64_t row) { return copies_ ? scratch(2) : reinterpret_cast<A*>(job_.out) + row * job_.size; }
  void finish(std::int64_t row) {
    if (!copies_) return;
    E* to = reinterpret_cast<E*>(job_.out) + row * job_.size;
    const A* from = scratch(2);
    if constexpr (kIsHalf<E>)
      narrow_all(from, job_.size, to);
    else
      std::copy_n(from, job_.size, to);
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  static constexpr std::int64_t kItem = sizeof(A);
  static constexpr std::int64_t kScratchRows = 5;
  static constexpr std::int64_t kShort = 64;
  static constexpr std::int64_t kPad = 16;
  // Rows in scratch memory begin at places of a page far from each other's: a load just ahead of a store in
  // another row would wait for it if both had the same place.
  static constexpr std::int64_t kPage = 4096, kApart = 21 * 64;

  static void prefetch_bytes(const std::byte* row, std::int64_t at, std::int64_t count) {
    constexpr std::int64_t kBytes = sizeof(E);
    for (std::int64_t i = at * kBytes; i < (at + count) * kBytes; i += sizeof(Line)) cpu::prefetch(row + i);
  }
  const std::byte* element(int k, std::int64_t row) const {
    return job_.in[k] + row * job_.size * static_cast<std::int64_t>(sizeof(E));
  }
  A* scratch(int k) { return reinterpret_cast<A*>(scratch_.get()) + k * stride_; }
  void widen_to(const std::byte* from, A* to) const {
    const E* elements = reinterpret_cast<const E*>(from);
    if constexpr (kIsHalf<E>)
      widen_all(elements, job_.size, to);
    else
      std::copy_n(elements, job_.size, to);
  }
  const RowJob& job_;
  bool copies_;
  std::int64_t count_;       // elements of a row, with the padding
  std::int64_t stride_ = 0;  // between rows in scratch memory
  std::unique_ptr<Line[]> scratch_;
};

}  // namespace kiln::cpu::KILN_ISA
