// Owns the steps of Fourier transforms, compiled once per instruction set. Each lane computes by itself, in
// plain multiplications and additions, so that vectors of any width give the same bits.
#include <cstdint>

#include "tensor/cpu/fourier/fourier_kernels.h"
#include "tensor/cpu/isa/butterflies.h"
#include "tensor/cpu/isa/squares.h"

namespace kiln::cpu::KILN_ISA {
namespace {

template <class T>
inline constexpr int kColumns = static_cast<int>(kFourierColumns<T>);
template <class T>
inline constexpr int kRow = static_cast<int>(kFourierRow<T>);

// ---- Passes ----------------------------------------------------------------------------------------------

// The transforms of one group, whose results are multiplied by the group's numbers; of the first group these
// are ones.
template <int kRadix, class T, bool kIsFirst>
[[gnu::always_inline]] inline void group(const FourierPass<T>& pass, const ComplexRows<T>& from,
                                         const ComplexRows<T>& to, std::int64_t at) {
  const std::int64_t step = pass.groups * pass.stride * kRow<T>, to_step = pass.stride * kRow<T>;
  const std::int64_t begin = at * to_step, to_begin = kRadix * begin;
  const T* const twiddles = kIsFirst ? nullptr : pass.twiddles + (at - 1) * 2 * (kRadix - 1);
  for (std::int64_t row = 0; row < to_step; row += kRow<T>) {
    for (int column = 0; column < kColumns<T>; column += kWidth<T>) {
      const std::int64_t in = begin + row + column, out = to_begin + row + column;
      ComplexVector<T> x[kRadix];
      each<kRadix>([&](auto i) __attribute__((always_inline)) {
        x[i] = {load(from.real + in + i * step), load(from.imaginary + in + i * step)};
      });
      Butterfly<kRadix>::apply(x);
      each<kRadix>([&](auto i) __attribute__((always_inline)) {
        if constexpr (!kIsFirst && i > 0) x[i] = x[i].times(twiddles[2 * i - 2], twiddles[2 * i - 1]);
        store(to.real + out + i * to_step, x[i].re);
        store(to.imaginary + out + i * to_step, x[i].im);
      });
    }
  }
}

template <int kRadix, class T>
void pass_of(const FourierPass<T>& pass, const ComplexRows<T>& from, const ComplexRows<T>& to) {
  group<kRadix, T, true>(pass, from, to, 0);
  for (std::int64_t at = 1; at < pass.groups; ++at) group<kRadix, T, false>(pass, from, to, at);
}

template <class T>
void pass(const FourierPass<T>& pass, const ComplexRows<T>& from, const ComplexRows<T>& to) {
  switch (pass.radix) {
    case 2:
      return pass_of<2>(pass, from, to);
    case 3:
      return pass_of<3>(pass, from, to);
    case 4:
      return pass_of<4>(pass, from, to);
    case 5:
      return pass_of<5>(pass, from, to);
    default:
      return pass_of<8>(pass, from, to);
  }
}

// ---- Pairs and blocks ------------------------------------------------------------------------------------

template <class T>
void load_columns(const T* from, std::int64_t step, std::int64_t rows, std::int64_t columns, T* block) {
  if (columns == kColumns<T>) {
    for (std::int64_t row = 0; row < rows; ++row, from += 2 * step, block += kRow<T>) {
      for (int column = 0; column < kColumns<T>; column += kWidth<T>) {
        const ComplexVector<T> x = load_pairs(from + 2 * column, kAllLanes<T>);
        store(block + column, x.re);
        store(block + kColumns<T> + column, x.im);
      }
    }
    return;
  }
  for (std::int64_t row = 0; row < rows; ++row, from += 2 * step, block += kRow<T>) {
    for (int column = 0; column < kColumns<T>; ++column) {
      block[column] = column < columns ? from[2 * column] : T(0);
      block[kColumns<T> + column] = column < columns ? from[2 * column + 1] : T(0);
    }
  }
}

template <class T>
void store_columns(const T* block, T* to, std::int64_t step, std::int64_t rows, std::int64_t columns) {
  if (columns == kColumns<T>) {
    for (std::int64_t row = 0; row < rows; ++row, to += 2 * step, block += kRow<T>) {
      for (int column = 0; column < kColumns<T>; column += kWidth<T>) {
        const ComplexVector<T> x{load(block + column), load(block + kColumns<T> + column)};
        store_pairs(to + 2 * column, x, kAllLanes<T>);
      }
    }
    return;
  }
  for (std::int64_t row = 0; row < rows; ++row, to += 2 * step, block += kRow<T>) {
    for (std::int64_t column = 0; column < columns; ++column) {
      to[2 * column] = block[column];
      to[2 * column + 1] = block[kColumns<T> + column];
    }
  }
}

// ---- Turning ---------------------------------------------------------------------------------------------

// Squares go through registers, two at a time: of the real and of the imaginary parts.
template <class T>
void turn(const FourierTurn<T>& turn) {
  constexpr int kSide = kWidth<T>;
  for (std::int64_t row = 0; row < turn.rows; row += kSide) {
    T* const tile = turn.to + row / kColumns<T> * turn.to_step + row % kColumns<T>;
    for (int column = 0; column < kColumns<T>; column += kSide) {
      VectorOf<T> re[kSide], im[kSide];
      each<kSide>([&](auto i) __attribute__((always_inline)) {
        // Past the last row there is something, too, which goes to columns beyond those asked for.
        const std::int64_t at = (row + i) * kRow<T> + column;
        const std::int64_t known = row + i < turn.rows ? row + i : turn.rows - 1;
        const T* const fine = turn.fine + known * kRow<T> + column;
        const T* const coarse = turn.coarse + 2 * known;
        const ComplexVector<T> factor =
            ComplexVector<T>{load(fine), load(fine + kColumns<T>)}.times(coarse[0], coarse[1]);
        const ComplexVector<T> x{load(turn.from + at), load(turn.from + at + kColumns<T>)};
        const ComplexVector<T> product = x.times(factor);
        re[i] = product.re;
        im[i] = product.im;
      });
      transpose_square(re);
      transpose_square(im);
      each<kSide>([&](auto i) __attribute__((always_inline)) {
        T* const to = tile + (column + i) * kRow<T>;
        store(to, re[i]);
        store(to + kColumns<T>, im[i]);
      });
    }
  }
}

// ---- Products --------------------------------------------------------------------------------------------

template <class T>
void scale(T* values, std::int64_t count, T factor) {
  for (std::int64_t i = 0; i < count; ++i) values[i] *= factor;
}

template <class T>
void multiply(const T* a, const T* b, T* to, std::int64_t count, bool conjugate) {
  const T sign = conjugate ? T(-1) : T(1);
  std::int64_t i = 0;
  for (; i + kWidth<T> <= count; i += kWidth<T>) {
    ComplexVector<T> product = load_pairs(a + 2 * i, kAllLanes<T>).times(load_pairs(b + 2 * i, kAllLanes<T>));
    product.im = product.im * sign;
    store_pairs(to + 2 * i, product, kAllLanes<T>);
  }
  for (; i < count; ++i) {
    const T re = a[2 * i], im = a[2 * i + 1], other_re = b[2 * i], other_im = b[2 * i + 1];
    to[2 * i] = re * other_re - im * other_im;
    to[2 * i + 1] = (re * other_im + im * other_re) * sign;
  }
}

template <class T>
constexpr FourierKernels<T> kKernels{&pass<T>, &load_columns<T>, &store_columns<T>,
                                     &turn<T>, &scale<T>,        &multiply<T>};

}  // namespace

const FourierTable& fourier_table() {
  static constexpr FourierTable kTable{kKernels<float>, kKernels<double>};
  return kTable;
}

}  // namespace kiln::cpu::KILN_ISA
