#include "tensor/cpu/fourier/real.h"

#include <algorithm>
#include <memory>

#include "tensor/cpu/fourier/real_kernels.h"
#include "tensor/cpu/fourier/transform.h"
#include "tensor/cpu/scratch.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

constexpr std::int64_t kNumbersPerPiece = 32768;  // numbers

template <class T>
void each_line(const RealLines<T>& lines, RangeFn f) {
  parallel_for(lines.count, std::max<std::int64_t>(1, kNumbersPerPiece / lines.n), f);
}

// ---- Of even length: a line of n real numbers is one of n / 2 pairs, (x_0, x_1), … ------------------------

template <class T>
class Even {
 public:
  explicit Even(std::int64_t n) : half_(n / 2), plan_(real_plan<T>(n)) {}

  void from_real(const RealLines<T>& lines, const T* from, T* pairs) const {
    const std::int64_t step = 2 * half_ + 2;
    transform(*plan_->pairs, FourierLines<T>{from, 2 * half_, pairs, step, lines.count}, false, lines.factor);
    const RealKernels<T>& kernels = real_fourier_table().of<T>();
    const T weight = lines.is_weighted ? T(1) : T(0.5);
    each_line(lines, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t line = begin; line < end; ++line)
        kernels.part(pairs + line * step, plan_->roots.data(), half_, weight);
    });
  }
  void to_real(const RealLines<T>& lines, const T* pairs, T* to) const {
    const std::int64_t step = 2 * half_;
    const RealKernels<T>& kernels = real_fourier_table().of<T>();
    const T weight = lines.is_weighted ? T(0.5) : T(1);
    each_line(lines, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t line = begin; line < end; ++line)
        kernels.join(pairs + line * (step + 2), to + line * step, plan_->roots.data(), half_, weight);
    });
    transform(*plan_->pairs, FourierLines<T>{to, step, to, step, lines.count}, true, lines.factor);
  }

 private:
  std::int64_t half_;
  std::shared_ptr<const RealPlan<T>> plan_;
};

// ---- Of odd length: as lines of complex numbers -----------------------------------------------------------

// So many lines at a time that the threads have work and memory stays small.
template <class T, class F>
void in_batches(const RealLines<T>& lines, const F& f) {
  const std::int64_t most = std::max<std::int64_t>(kFourierColumns<T>, 8 * kNumbersPerPiece / lines.n);
  const std::int64_t batch = std::min(lines.count, most);
  const Scratch<T> whole(2 * lines.n * batch);
  for (std::int64_t first = 0; first < lines.count; first += batch)
    f(first, RealLines<T>{lines.n, std::min(batch, lines.count - first), lines.factor, lines.is_weighted},
      whole.get());
}
template <class T>
void transform_whole(const RealLines<T>& lines, T* whole, bool inverse) {
  const std::int64_t step = 2 * lines.n;
  transform(*fourier_plan<T>(lines.n), FourierLines<T>{whole, step, whole, step, lines.count}, inverse,
            lines.factor);
}

template <class T>
void from_odd(const RealLines<T>& all, const T* from, T* pairs) {
  const std::int64_t count = all.n / 2 + 1;
  in_batches(all, [&](std::int64_t first, const RealLines<T>& lines, T* whole) {
    each_line(lines, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin * lines.n; i < end * lines.n; ++i) {
        whole[2 * i] = from[first * lines.n + i];
        whole[2 * i + 1] = T(0);
      }
    });
    transform_whole(lines, whole, false);
    each_line(lines, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t line = begin; line < end; ++line) {
        const T* const made = whole + 2 * line * lines.n;
        T* const to = pairs + 2 * (first + line) * count;
        const T weight = lines.is_weighted ? T(2) : T(1);
        for (std::int64_t i = 2; i < 2 * count; ++i) to[i] = weight * made[i];
        to[0] = made[0];
        to[1] = T(0);
      }
    });
  });
}

template <class T>
void to_odd(const RealLines<T>& all, const T* pairs, T* to) {
  const std::int64_t count = all.n / 2 + 1;
  in_batches(all, [&](std::int64_t first, const RealLines<T>& lines, T* whole) {
    each_line(lines, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t line = begin; line < end; ++line) {
        const T* const known = pairs + 2 * (first + line) * count;
        T* const made = whole + 2 * line * lines.n;
        const T weight = lines.is_weighted ? T(0.5) : T(1);
        made[0] = known[0];
        made[1] = T(0);
        for (std::int64_t k = 1; k < count; ++k) {
          made[2 * k] = made[2 * (lines.n - k)] = weight * known[2 * k];
          made[2 * k + 1] = weight * known[2 * k + 1];
          made[2 * (lines.n - k) + 1] = -made[2 * k + 1];
        }
      }
    });
    transform_whole(lines, whole, true);
    each_line(lines, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin * lines.n; i < end * lines.n; ++i) to[first * lines.n + i] = whole[2 * i];
    });
  });
}

}  // namespace

template <class T>
void transform_real(const RealLines<T>& lines, const T* from, T* pairs) {
  lines.n % 2 == 0 ? Even<T>(lines.n).from_real(lines, from, pairs) : from_odd(lines, from, pairs);
}
template <class T>
void transform_to_real(const RealLines<T>& lines, const T* pairs, T* to) {
  lines.n % 2 == 0 ? Even<T>(lines.n).to_real(lines, pairs, to) : to_odd(lines, pairs, to);
}

template void transform_real(const RealLines<float>&, const float*, float*);
template void transform_real(const RealLines<double>&, const double*, double*);
template void transform_to_real(const RealLines<float>&, const float*, float*);
template void transform_to_real(const RealLines<double>&, const double*, double*);

}  // namespace kiln::cpu
