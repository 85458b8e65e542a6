// Owns the steps between transforms of real numbers and those of pairs, compiled once per instruction set.
// Numbers k and half - k are found together.
#include <cstdint>

#include "tensor/cpu/fourier/real_kernels.h"
#include "tensor/cpu/isa/complex_vectors.h"

namespace kiln::cpu::KILN_ISA {
namespace {

// Where the numbers k, k + 1, … lie, and where those at half - k, half - k - 1, … end.
template <class T>
struct Sides {
  const T* low;
  const T* high;
  T* to_low;
  T* to_high;
  const T* roots;
};

struct Part {
  template <class T>
  [[gnu::always_inline]] static void apply(ComplexVector<T>& low, ComplexVector<T>& high,
                                           const ComplexVector<T>& root, T weight) {
    const ComplexVector<T> even{(low.re + high.re) * weight, (low.im - high.im) * weight};
    const ComplexVector<T> odd{(low.im + high.im) * weight, (high.re - low.re) * weight};
    const ComplexVector<T> turned = odd.times(root);
    low = even + turned;
    high = {even.re - turned.re, turned.im - even.im};
  }
};
struct Join {
  template <class T>
  [[gnu::always_inline]] static void apply(ComplexVector<T>& low, ComplexVector<T>& high,
                                           const ComplexVector<T>& root, T weight) {
    const ComplexVector<T> even{(low.re + high.re) * weight, (low.im - high.im) * weight};
    const ComplexVector<T> apart{(low.re - high.re) * weight, (low.im + high.im) * weight};
    const ComplexVector<T> odd = apart.times(ComplexVector<T>{root.re, -root.im});
    low = {even.re - odd.im, even.im + odd.re};
    high = {even.re + odd.im, odd.re - even.im};
  }
};

// As many numbers of each side as a vector has.
template <class Step, class T>
[[gnu::always_inline]] inline void step(const Sides<T>& at, T weight) {
  constexpr std::make_integer_sequence<int, kWidth<T>> kAll;
  ComplexVector<T> low = load_pairs(at.low, kAll);
  ComplexVector<T> high = reversed(load_pairs(at.high - 2 * (kWidth<T> - 1), kAll), kAll);
  Step::apply(low, high, load_pairs(at.roots, kAll), weight);
  store_pairs(at.to_low, low, kAll);
  store_pairs(at.to_high - 2 * (kWidth<T> - 1), reversed(high, kAll), kAll);
}

// Fewer of them, or so many that the sides meet: beside the line.
template <class Step, class T>
void step_beside(const Sides<T>& at, std::int64_t count, T weight) {
  T low[2 * kWidth<T>] = {}, high[2 * kWidth<T>] = {}, roots[2 * kWidth<T>] = {};
  T* const last = high + 2 * (kWidth<T> - 1);
  for (std::int64_t i = 0; i < 2 * count; ++i) {
    low[i] = at.low[i];
    roots[i] = at.roots[i];
    last[1 - i] = at.high[1 - i];
  }
  step<Step, T>({low, last, low, last, roots}, weight);
  for (std::int64_t i = 0; i < 2 * count; ++i) {
    at.to_low[i] = low[i];
    at.to_high[1 - i] = last[1 - i];
  }
}

// All numbers but the first and the last.
template <class Step, class T>
void each_side(const T* from, T* to, const T* roots, std::int64_t half, T weight) {
  const std::int64_t end = half / 2 + 1;
  for (std::int64_t k = 1; k < end; k += kWidth<T>) {
    const std::int64_t mirror = half - k;
    const Sides<T> sides{from + 2 * k, from + 2 * mirror, to + 2 * k, to + 2 * mirror, roots + 2 * k};
    if (k + kWidth<T> <= mirror - kWidth<T> + 1)
      step<Step>(sides, weight);
    else
      step_beside<Step>(sides, end - k < kWidth<T> ? end - k : kWidth<T>, weight);
  }
}

template <class T>
void part(T* line, const T* roots, std::int64_t half, T weight) {
  const T first = line[0], second = line[1];
  each_side<Part>(line, line, roots, half, weight);
  line[0] = first + second;
  line[2 * half] = first - second;
  line[1] = line[2 * half + 1] = T(0);
}

template <class T>
void join(const T* pairs, T* line, const T* roots, std::int64_t half, T weight) {
  line[0] = pairs[0] + pairs[2 * half];
  line[1] = pairs[0] - pairs[2 * half];
  each_side<Join>(pairs, line, roots, half, weight);
}

template <class T>
constexpr RealKernels<T> kKernels{&part<T>, &join<T>};

}  // namespace

const RealFourierTable& real_fourier_table() {
  static constexpr RealFourierTable kTable{kKernels<float>, kKernels<double>};
  return kTable;
}

}  // namespace kiln::cpu::KILN_ISA
