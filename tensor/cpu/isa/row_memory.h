// Owns how the kernels of row programs read rows and write them. Included only by files that are compiled
// once per instruction set.
#pragma once

#include <algorithm>
#include <memory>

#include "tensor/cpu/folds/row_job.h"
#include "tensor/cpu/isa/wide_load.h"
#include "tensor/cpu/prefetch.h"
#include "tensor/integers.h"

namespace kiln::cpu::KILN_ISA {

// How far ahead norms ask for rows: memory takes longer than one.
inline constexpr std::int64_t kRowsAhead = 2;

// The rows of a job as accumulators: in place, or, when they are narrow elements, in scratch memory. There
// they are padded to whole vectors, so that loops over `count` elements need no scalar rest.
template <class E>
class Rows {
 public:
  using A = AccumulatorOf<E>;

  explicit Rows(const RowJob& job, A padding = 0)
      : job_(job),
        count_(kCopies ? round_up(job.size, kPad) : job.size),
        asks_(job.size <= kLongest && job.rows * job.size > kNear) {
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
  // Asks for elements [at, at + count) of a row that is next, and for where its result goes, which is read
  // before it is written: so memory is at work while this one is computed. For what is computed so long that
  // memory is the faster one.
  void ask_near(std::int64_t row, std::int64_t at, std::int64_t count) const {
    if (asks_) each_line(row, at, at + count, [](const std::byte* line) { prefetch(line); });
  }
  // One of the passes over a row that ask for a row ahead, each for its share. None of them is the first,
  // which reads what has just come.
  struct Pass {
    std::int64_t row;   // that is asked for
    int number, count;  // this pass, of how many
  };
  // For the share of elements [at, at + count), into the second cache, since the first has places for few
  // requests.
  void ask(const Pass& pass, std::int64_t at, std::int64_t count) const {
    if (!asks_) return;
    const std::int64_t before = pass.number * job_.size + at;
    each_line(pass.row, before / pass.count, (before + count) / pass.count,
              [](const std::byte* line) { prefetch_to_second(line); });
  }
  // Calls f(at, count) for pieces of a row of n elements.
  template <class F>
  void each_piece(const Pass& pass, std::int64_t n, const F& f) const {
    constexpr std::int64_t kPiece = 256;
    for (std::int64_t at = 0; at < n; at += kPiece) {
      const std::int64_t count = std::min(kPiece, n - at);
      ask(pass, at, count);
      f(at, count);
    }
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
  // Elements of rows that would push each other out of the cache, and of jobs that are in it.
  static constexpr std::int64_t kLongest = (1 << 16) / sizeof(E), kNear = (1 << 17) / sizeof(E);
  // Rows in scratch memory begin at places of a page far from each other's: a load just ahead of a store in
  // another row would wait for it if both had the same place.
  static constexpr std::int64_t kPage = 4096, kApart = 21 * 64;

  // Those of elements [begin, end) of each operand, and of the result.
  template <class F>
  void each_line(std::int64_t row, std::int64_t begin, std::int64_t end, const F& f) const {
    constexpr std::int64_t kBytes = sizeof(E);
    const auto lines = [&](const std::byte* from) {
      for (std::int64_t i = begin * kBytes; i < end * kBytes; i += sizeof(Line)) f(from + i);
    };
    for (int k = 0; k < 2 && job_.in[k] != nullptr; ++k) lines(element(k, row));
    lines(job_.out + row * job_.size * kBytes);
  }
  const std::byte* element(int k, std::int64_t row) const {
    return job_.in[k] + row * job_.size * static_cast<std::int64_t>(sizeof(E));
  }
  A* scratch(int k) { return reinterpret_cast<A*>(scratch_.get()) + k * stride_; }
  void widen_to([[maybe_unused]] const std::byte* from, [[maybe_unused]] A* to) const {
    if constexpr (kCopies) widen_all(reinterpret_cast<const E*>(from), job_.size, to);
  }
  const RowJob& job_;
  std::int64_t count_;       // elements of a row, with the padding
  bool asks_;                // for rows before their turn
  std::int64_t stride_ = 0;  // between rows in scratch memory
  std::unique_ptr<Line[]> scratch_;
};

}  // namespace kiln::cpu::KILN_ISA
