#include "tensor/cpu/fourier/transform.h"

#include <algorithm>
#include <bit>

#include "tensor/cpu/elementwise/transpose_kernels.h"
#include "tensor/cpu/scratch.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

constexpr std::int64_t kTransformGrain = 32768;  // numbers

// Matrices of elements: to[r][c] = from[c][r], of any size.
template <class T>
void transpose_elements(const T* from, std::int64_t from_step, T* to, std::int64_t to_step, std::int64_t rows,
                        std::int64_t columns) {
  constexpr std::int64_t kMost = transpose_columns(sizeof(T));
  const TransposeKernel kernel = transpose_kernels().of_size[std::countr_zero(sizeof(T))];
  for (std::int64_t c = 0; c < columns; c += kMost)
    kernel(reinterpret_cast<const std::byte*>(from + c * from_step), from_step,
           reinterpret_cast<std::byte*>(to + c), to_step, rows, std::min(kMost, columns - c));
}

// Memory for passes over blocks: each reads one block and writes another.
template <class T>
class Blocks {
 public:
  explicit Blocks(std::int64_t rows)
      : size_(round_up(rows, kFourierColumns<T>) * kFourierRow<T>), memory_(2 * size_) {
    const std::int64_t used = rows * kFourierRow<T>;
    for (T* block : {first(), first() + size_}) std::fill(block + used, block + size_, T(0));
  }
  T* first() const { return memory_.get(); }

  // The transform of the first block, or of another one of as many rows, which stays as it is. Exchanged
  // parts at the beginning and the end make it the inverse one.
  T* run(const FourierPasses<T>& passes, T* from, bool exchanges_in, bool exchanges_out) const {
    const FourierKernels<T>& kernels = fourier_table().of<T>();
    T* to = from == first() ? first() + size_ : first();
    for (std::size_t i = 0; i < passes.count(); ++i) {
      ComplexRows<T> source(from), target(to);
      if (i == 0 && exchanges_in) source = source.exchanged();
      if (i + 1 == passes.count() && exchanges_out) target = target.exchanged();
      kernels.pass(passes[i], source, target);
      from = to;
      to = from == first() ? first() + size_ : first();
    }
    return from;
  }

 private:
  std::int64_t size_;
  Scratch<T> memory_;
};

template <class T>
class Transform {
 public:
  Transform(const FourierPlan<T>& plan, const FourierLines<T>& lines, bool inverse, T factor)
      : plan_(plan), lines_(lines), inverse_(inverse), factor_(factor) {}

  void run() const {
    switch (plan_.kind) {
      case FourierPlan<T>::Kind::Direct:
        return run_direct();
      case FourierPlan<T>::Kind::Split:
        return run_split();
      case FourierPlan<T>::Kind::Chirp:
        return run_chirp();
    }
  }

 private:
  static constexpr std::int64_t kSide = kFourierColumns<T>;

  const T* from(std::int64_t line) const { return lines_.from + line * lines_.step; }
  T* to(std::int64_t line) const { return lines_.to + line * lines_.to_step; }

  // Over lines, or within each of them where there are fewer lines than threads.
  template <class F>
  void over_lines(const F& f) const {
    if (lines_.count < num_threads()) return f(0, lines_.count);
    parallel_for(lines_.count, std::max<std::int64_t>(1, kTransformGrain / plan_.length), f);
  }

  void scale(T* block, std::int64_t rows) const {
    if (factor_ != T(1)) fourier_table().of<T>().scale(block, rows * kFourierRow<T>, factor_);
  }

  // ---- Direct ----

  void run_direct() const {
    parallel_for(ceil_divide(lines_.count, kSide),
                 std::max<std::int64_t>(1, kTransformGrain / (kSide * plan_.length)),
                 [&](std::int64_t begin, std::int64_t end) {
                   const Blocks<T> blocks(plan_.length);
                   for (std::int64_t group = begin; group < end; ++group)
                     run_group(group * kSide, std::min(kSide, lines_.count - group * kSide), blocks);
                 });
  }
  // Elements of lines become rows of a block: real and imaginary parts in turns, as they are.
  void run_group(std::int64_t line, std::int64_t count, const Blocks<T>& blocks) const {
    const std::int64_t row = 2 * plan_.length;
    if (count == kSide)
      transpose_elements(from(line), lines_.step, blocks.first(), kSide, row, kSide);
    else
      load_some(line, count, blocks.first());
    T* const result = blocks.run(plan_.columns, blocks.first(), inverse_, inverse_);
    scale(result, plan_.length);
    if (count == kSide)
      transpose_elements(result, kSide, to(line), lines_.to_step, kSide, row);
    else
      store_some(result, line, count);
  }
  // The other columns are zeros: what memory held may be slow to compute with.
  void load_some(std::int64_t first, std::int64_t count, T* block) const {
    std::fill_n(block, plan_.length * kFourierRow<T>, T(0));
    for (std::int64_t column = 0; column < count; ++column)
      for (std::int64_t i = 0; i < 2 * plan_.length; ++i) block[i * kSide + column] = from(first + column)[i];
  }
  void store_some(const T* block, std::int64_t first, std::int64_t count) const {
    for (std::int64_t column = 0; column < count; ++column)
      for (std::int64_t i = 0; i < 2 * plan_.length; ++i) to(first + column)[i] = block[i * kSide + column];
  }

  // ---- Split ----

  void run_split() const {
    over_lines([&](std::int64_t begin, std::int64_t end) {
      const Scratch<T> between(round_up(plan_.columns.length(), kSide) *
                               round_up(plan_.rows.length(), kSide) * 2);
      for (std::int64_t line = begin; line < end; ++line) {
        transform_columns(from(line), between.get());
        transform_rows(between.get(), to(line));
      }
    });
  }
  // The blocks that a matrix of so many columns is cut into.
  template <class F>
  static void each_block(std::int64_t columns, std::int64_t rows, const F& f) {
    parallel_for(ceil_divide(columns, kSide), std::max<std::int64_t>(1, kTransformGrain / (rows * kSide)),
                 [&](std::int64_t begin, std::int64_t end) {
                   const Blocks<T> blocks(rows);
                   for (std::int64_t block = begin; block < end; ++block)
                     f(block, std::min(kSide, columns - block * kSide), blocks);
                 });
  }
  void transform_columns(const T* line, T* between) const {
    const FourierKernels<T>& kernels = fourier_table().of<T>();
    const std::int64_t columns = plan_.rows.length(), rows = plan_.columns.length();
    const std::int64_t stretch = round_up(columns, kSide) * kFourierRow<T>;
    each_block(columns, rows, [&](std::int64_t block, std::int64_t count, const Blocks<T>& blocks) {
      kernels.load_columns(line + block * kFourierRow<T>, columns, rows, count, blocks.first());
      const T* const result = blocks.run(plan_.columns, blocks.first(), inverse_, false);
      kernels.turn({.rows = rows,
                    .coarse = plan_.coarse.data() + 2 * block * rows,
                    .fine = plan_.fine.data(),
                    .from = result,
                    .to = between + block * kSide * kFourierRow<T>,
                    .to_step = stretch});
    });
  }
  void transform_rows(T* between, T* line) const {
    const FourierKernels<T>& kernels = fourier_table().of<T>();
    const std::int64_t columns = plan_.columns.length(), rows = plan_.rows.length();
    const std::int64_t stretch = round_up(rows, kSide) * kFourierRow<T>;
    each_block(columns, rows, [&](std::int64_t block, std::int64_t count, const Blocks<T>& blocks) {
      T* const result = blocks.run(plan_.rows, between + block * stretch, false, inverse_);
      scale(result, rows);
      kernels.store_columns(result, line + block * kFourierRow<T>, columns, rows, count);
    });
  }

  // ---- Chirp ----

  // The inverse transform is the conjugate of that of the conjugate.
  void run_chirp() const {
    const FourierPlan<T>& inner = *plan_.inner;
    // Short ones are transformed side by side.
    const std::int64_t side = inner.kind == FourierPlan<T>::Kind::Direct ? kSide : 1;
    const auto each = [&](std::int64_t begin, std::int64_t end) {
      const Scratch<T> around(2 * side * inner.length);
      for (std::int64_t group = begin; group < end; ++group)
        convolve(group * side, std::min(side, lines_.count - group * side), around.get());
    };
    if (side == 1) return over_lines(each);
    parallel_for(ceil_divide(lines_.count, side),
                 std::max<std::int64_t>(1, kTransformGrain / (side * inner.length)), each);
  }
  void convolve(std::int64_t first, std::int64_t count, T* around) const {
    const FourierKernels<T>& kernels = fourier_table().of<T>();
    const FourierPlan<T>& inner = *plan_.inner;
    const std::int64_t size = 2 * inner.length, length = 2 * plan_.length;
    const FourierLines<T> lines{around, size, around, size, count};
    for (std::int64_t i = 0; i < count; ++i) {
      T* const line = around + i * size;
      std::copy_n(from(first + i), length, line);
      if (inverse_) negate_imaginary(line);
      kernels.multiply(line, plan_.chirp.data(), line, plan_.length, false);
      std::fill(line + length, line + size, T(0));
    }
    transform(inner, lines, false, T(1));
    for (std::int64_t i = 0; i < count; ++i)
      kernels.multiply(around + i * size, plan_.filter.data(), around + i * size, inner.length, false);
    transform(inner, lines, true, T(1));
    for (std::int64_t i = 0; i < count; ++i) {
      T* const line = to(first + i);
      kernels.multiply(around + i * size, plan_.chirp.data(), line, plan_.length, inverse_);
      if (factor_ != T(1)) kernels.scale(line, length, factor_);
    }
  }
  void negate_imaginary(T* line) const {
    for (std::int64_t i = 0; i < plan_.length; ++i) line[2 * i + 1] = -line[2 * i + 1];
  }

  const FourierPlan<T>& plan_;
  const FourierLines<T>& lines_;
  const bool inverse_;
  const T factor_;
};

}  // namespace

template <class T>
void transform(const FourierPlan<T>& plan, const FourierLines<T>& lines, bool inverse, T factor) {
  Transform<T>(plan, lines, inverse, factor).run();
}

template void transform(const FourierPlan<float>&, const FourierLines<float>&, bool, float);
template void transform(const FourierPlan<double>&, const FourierLines<double>&, bool, double);

}  // namespace kiln::cpu
