// Owns the kernels of secular equations, compiled once per instruction set: each lane has a root of its own.
// Roots by interpolation with a pole on either side (Bunch, Nielsen and Sorensen, 1978; Li, LAPACK working
// note 89, 1993), vectors from weights that fit them (Gu and Eisenstat, 1995).
#include "tensor/cpu/linalg/secular_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/cpu/isa/vectors.h"
#include "tensor/cpu/linalg/block_kernels.h"

namespace kiln::cpu::KILN_ISA {
namespace {

template <class T>
bool all(const IntVectorOf<T>& truths) {
  bool result = true;
  for (int lane = 0; lane < kWidth<T>; ++lane) result = result && truths[lane] != 0;
  return result;
}
template <class T>
VectorOf<T> square_root(const VectorOf<T>& x) {
  T lanes[kWidth<T>];
  std::memcpy(lanes, &x, sizeof x);
  for (T& lane : lanes) lane = std::sqrt(lane);
  return load(lanes);
}
template <class Vector>
Vector magnitude(const Vector& x) {
  return x < 0 ? -x : x;
}

// The root of c x^2 - a x + b that is between the poles of the function which these describe.
template <class T>
VectorOf<T> quadratic_root(const VectorOf<T>& a, const VectorOf<T>& b, const VectorOf<T>& c) {
  const auto width = square_root<T>(magnitude(a * a - 4 * b * c));
  return a <= 0 ? (a - width) / (2 * c) : 2 * b / (a + width);
}

// Terms of the sum, and their derivatives: of poles up to that below a lane's root, and of those above it.
template <class T>
struct Sums {
  VectorOf<T> below{}, below_slope{}, above{}, above_slope{};
};

// The roots behind poles `first`, `first` + 1, … Each is an offset from the nearer of the poles around it: so
// its distances from all of them have all their digits.
template <class T>
class Roots {
 public:
  using Vector = VectorOf<T>;

  Roots(const Secular<T>& equation, int first)
      : e_(equation), first_(first), places_(lane_numbers<T>() + first), inverse_(1 / equation.scale) {
    const auto last = places_ == e_.count - 1;
    const Vector own = load(e_.poles + first), next_pole = load(e_.poles + first + 1);
    // No root is farther behind the last pole: half of the way to the next, were there one.
    T squares = 0;
    for (int i = 0; i < e_.count; ++i) squares += e_.weights[i] * e_.weights[i];
    const Vector reach = Vector{} + e_.scale * squares * (1 + T(e_.count + 8) * kUnit);
    gap_ = last ? 2 * reach : next_pole - own;
    const Vector middle = gap_ / 2;
    const Sums<T> sums = sum_terms(own, middle);
    const Vector value = inverse_ + sums.below + sums.above;
    lower_ = (value >= 0) | last;
    origin_ = lower_ ? own : next_pole;
    low_ = lower_ ? Vector{} : -middle;
    high_ = lower_ ? middle : Vector{};
    // With all other terms as they are in the middle.
    const Vector left = load(e_.weights + first), right = last ? Vector{} : load(e_.weights + first + 1);
    const Vector left2 = left * left, right2 = right * right;
    const Vector rest = value + (left2 - right2) / middle;
    const Vector both = left2 + right2;
    const Vector guess = quadratic_root<T>(lower_ ? rest * gap_ + both : both - rest * gap_,
                                           lower_ ? left2 * gap_ : -right2 * gap_, rest);
    offset_ = within(guess);
  }

  bool find() {
    auto done = places_ >= e_.count;
    for (int step = 0; step < kMostSteps; ++step) {
      const Sums<T> sums = sum_terms(origin_, offset_);
      const Vector value = inverse_ + sums.below + sums.above;
      const Vector slope = sums.below_slope + sums.above_slope;
      // What rounding leaves of a sum of so many terms.
      const Vector noise =
          inverse_ + (8 + T(e_.count) / 8) * (sums.above - sums.below) + magnitude(offset_) * slope;
      done |= magnitude(value) <= kUnit * noise;
      if (all<T>(done)) return true;
      low_ = value < 0 ? offset_ : low_;
      high_ = value < 0 ? high_ : offset_;
      const Vector left = (lower_ ? Vector{} : -gap_) - offset_, right = (lower_ ? gap_ : Vector{}) - offset_;
      const Vector c = value - left * sums.below_slope - right * sums.above_slope;
      const Vector next = within(offset_ + quadratic_root<T>((left + right) * value - left * right * slope,
                                                             left * right * value, c));
      const auto still = magnitude(next - offset_) <= kUnit * magnitude(next);
      offset_ = done ? offset_ : next;
      done |= still;
    }
    return false;
  }

  void write() const {
    store_some(e_.roots + first_, origin_ + offset_, std::min(e_.count - first_, kWidth<T>));
    for (int i = 0; i < e_.count; ++i)
      store(e_.matrix + e_.places[i] * e_.ld + first_, (e_.poles[i] - origin_) - offset_);
  }

 private:
  static constexpr T kUnit = std::numeric_limits<T>::epsilon();
  // Interpolation takes a few; halving from one pole to the next to the least offset, all others.
  static constexpr int kMostSteps = 2 * std::numeric_limits<T>::digits + 60;

  Vector within(const Vector& x) const { return (x > low_) & (x < high_) ? x : (low_ + high_) / 2; }

  Sums<T> sum_terms(const Vector& origin, const Vector& offset) const {
    Sums<T> sums;
    const auto term = [&](int i, Vector& sum, Vector& slope, const auto& select)
                          __attribute__((always_inline)) {
                            const Vector share = select(e_.weights[i] / ((e_.poles[i] - origin) - offset));
                            sum += e_.weights[i] * share;
                            slope += share * share;
                          };
    const auto whole = [](const Vector& x) __attribute__((always_inline)) { return x; };
    const int end = std::min(first_ + kWidth<T>, e_.count);
    int i = 0;
    for (; i < first_; ++i) term(i, sums.below, sums.below_slope, whole);
    for (; i < end; ++i) {
      const auto below = places_ >= i;
      term(i, sums.below, sums.below_slope,
           [&](const Vector& x) __attribute__((always_inline)) { return below ? x : Vector{}; });
      term(i, sums.above, sums.above_slope,
           [&](const Vector& x) __attribute__((always_inline)) { return below ? Vector{} : x; });
    }
    for (; i < e_.count; ++i) term(i, sums.above, sums.above_slope, whole);
    return sums;
  }

  const Secular<T>& e_;
  const int first_;
  const IntVectorOf<T> places_;
  const T inverse_;
  IntVectorOf<T> lower_;  // is the pole below the origin?
  Vector gap_, origin_, offset_, low_, high_;
};

template <class T>
bool find_roots(const Secular<T>& equation, int first, int end) {
  for (int j = first; j < end; j += kWidth<T>) {
    Roots<T> roots(equation, j);
    if (!roots.find()) return false;
    roots.write();
  }
  return true;
}

// z_i^2 is the product of all (d_i - x_j) over that of all d_i - d_j but one, up to sign and a factor of all.
template <class T>
void find_weights(const Secular<T>& e, T* weights, int first, int end) {
  for (int i = first; i < end; ++i) {
    const T* gaps = e.matrix + e.places[i] * e.ld;
    VectorOf<T> product = VectorOf<T>{} + 1;
    for (int j = 0; j < e.count; j += kWidth<T>) {
      const auto places = lane_numbers<T>() + j;
      const VectorOf<T> ratio =
          load(gaps + j) / (places == i ? VectorOf<T>{} + 1 : e.poles[i] - load(e.poles + j));
      product *= places < e.count ? ratio : VectorOf<T>{} + 1;
    }
    T square = -1;
    for (int lane = 0; lane < kWidth<T>; ++lane) square *= product[lane];
    weights[i] = std::copysign(std::sqrt(square), e.weights[i]);
  }
}

template <class T>
void find_vectors(const Secular<T>& e, const T* weights, int first, int end) {
  using Vector = VectorOf<T>;
  constexpr int kBlock = 32;
  for (int j = first; j < end; j += kWidth<T>) {
    Vector squares{};
    for (int block = 0; block < e.count; block += kBlock) {  // sums of sums round less
      Vector here{};
      for (int i = block; i < std::min(block + kBlock, e.count); ++i) {
        T* to = e.matrix + e.places[i] * e.ld + j;
        const Vector share = weights[i] / load(to);
        here += share * share;
        store(to, share);
      }
      squares += here;
    }
    const auto some = lane_numbers<T>() + j < e.count;
    const Vector scale = -1 / square_root<T>(squares);
    for (int i = 0; i < e.count; ++i) {
      T* to = e.matrix + e.places[i] * e.ld + j;
      store(to, some ? load(to) * scale : Vector{});
    }
  }
}

template <class T>
void combine(const T* factor, std::ptrdiff_t ld_factor, const T* x, std::ptrdiff_t ldx, T* c,
             std::ptrdiff_t ldc, int rows, int columns, int depth) {
  constexpr int kMany = kBlockStep / kWidth<T>;
  for (int i = 0; i < rows; ++i) {
    VectorOf<T> sum[kMany] = {};
    for (int p = 0; p < depth; ++p)
      each<kMany>([&](auto v) __attribute__((always_inline)) {
        sum[v] -= factor[p * ld_factor + i] * load(x + p * ldx + v * kWidth<T>);
      });
    each<kMany>([&](auto v) __attribute__((always_inline)) {
      const int left = columns - v * kWidth<T>;
      if (left > 0) store_some(c + i * ldc + v * kWidth<T>, sum[v], std::min(left, kWidth<T>));
    });
  }
}

template <class T>
constexpr SecularKernels<T> kKernelsOf{find_roots<T>, find_weights<T>, find_vectors<T>, combine<T>};
constexpr SecularTable kTable{kKernelsOf<float>, kKernelsOf<double>};

}  // namespace

const SecularTable& secular_kernels() { return kTable; }

}  // namespace kiln::cpu::KILN_ISA
