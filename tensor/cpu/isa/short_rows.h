// Owns softmax of short rows, several at a time: what a row costs by itself would be more than its elements.
// Included only by files that are compiled once per instruction set.
#pragma once

#include "tensor/cpu/folds/row_job.h"
#include "tensor/cpu/isa/dense_rows.h"
#include "tensor/cpu/isa/exp_rows.h"

namespace kiln::cpu::KILN_ISA {

inline constexpr std::int64_t kShortRow = 64;

// Rows as many as a vector holds results, of at most kShortRow elements.
template <class E>
class ShortRows {
 public:
  using A = AccumulatorOf<E>;
  static constexpr std::int64_t kRows = Lanes<SumOf, A>::kWidth;

  explicit ShortRows(const RowJob& job) : job_(job) {}

  // Rows [begin, end). Results are finish(x - max, e^(x - max), number), the last one made of a row's sum.
  template <class Number, class Finish>
  void run(std::int64_t begin, std::int64_t end, const Number& number, const Finish& finish) {
    for (std::int64_t row = begin; row < end; row += kRows) {
      const std::int64_t rows = std::min(kRows, end - row);
      const A* x = read(row, rows);
      fold_dense<MaxOf, A>(x, job_.size, job_.size, rows, numbers_);
      each_row(rows, [&](std::int64_t at, A m) {
        for (std::int64_t i = at; i < at + job_.size; ++i) shifted_[i] = x[i] - m;
      });
      const bool finite = std::all_of(numbers_, numbers_ + rows, is_finite<A>);
      make_powers(finite, rows * job_.size);
      fold_dense<SumOf, A>(static_cast<const A*>(powers_), job_.size, job_.size, rows, numbers_);
      for (std::int64_t r = 0; r < kRows; ++r) numbers_[r] = number(numbers_[r]);
      each_row(rows, [&](std::int64_t at, A n) {
        for (std::int64_t i = at; i < at + job_.size; ++i) powers_[i] = finish(shifted_[i], powers_[i], n);
      });
      write(row, rows);
    }
  }

 private:
  void make_powers(bool finite, std::int64_t count) {
    if (finite) {
      for (std::int64_t i = 0; i < count; ++i) powers_[i] = math::exp<true>(shifted_[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) powers_[i] = math::exp(shifted_[i]);
    }
  }
  template <class F>
  void each_row(std::int64_t rows, const F& f) const {
    for (std::int64_t r = 0; r < rows; ++r) f(r * job_.size, numbers_[r]);
  }
  const A* read(std::int64_t row, std::int64_t rows) {
    const E* from = reinterpret_cast<const E*>(job_.in[0]) + row * job_.size;
    if constexpr (std::is_same_v<E, A>) {
      return from;
    } else {
      widen_all(from, rows * job_.size, wide_);
      return wide_;
    }
  }
  void write(std::int64_t row, std::int64_t rows) {
    E* to = reinterpret_cast<E*>(job_.out) + row * job_.size;
    if constexpr (std::is_same_v<E, A>)
      std::copy_n(powers_, rows * job_.size, to);
    else
      narrow_all(powers_, rows * job_.size, to);
  }
  const RowJob& job_;
  alignas(64) A wide_[kRows * kShortRow];
  alignas(64) A shifted_[kRows * kShortRow];
  alignas(64) A powers_[kRows * kShortRow];
  A numbers_[kRows] = {};
};

}  // namespace kiln::cpu::KILN_ISA
