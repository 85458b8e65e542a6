#include "tensor/cpu/random/poisson.h"

#include "tensor/math.h"
#include "tensor/parallel.h"
#include "tensor/philox.h"

namespace kiln::cpu {
namespace {

// Blocks of one element lie this far apart, so that each has as many as it takes: trial k of element i is
// block k * 2^40 + i of the draw.
constexpr int kTrialShift = 40;

// Two numbers of [0, 1) for each trial of an element.
class Trials {
 public:
  Trials(const Generator& draw, std::int64_t element)
      : draw_(draw), index_(static_cast<std::uint64_t>(element)) {}
  struct Pair {
    double u, v;
  };
  Pair next() {
    const std::array<std::uint32_t, 4> words = philox(draw_.seed, draw_.offset, index_);
    index_ += std::uint64_t{1} << kTrialShift;
    return {unit_double(words[0] | std::uint64_t{words[1]} << 32),
            unit_double(words[2] | std::uint64_t{words[3]} << 32)};
  }

 private:
  Generator draw_;
  std::uint64_t index_;
};

// Of small rates: probabilities are added up until they exceed a number. What rounding leaves of 1 is below
// 2^-50; more events than `kMost` are rarer.
double by_inversion(double rate, Trials& trials) {
  constexpr double kMost = 100.0;
  const double u = trials.next().u;
  double events = 0.0, probability = math::exp(-rate), sum = probability;
  while (u >= sum && events < kMost) {
    events += 1.0;
    probability *= rate / events;
    sum += probability;
  }
  return events;
}

// Hörmann, "The transformed rejection method for generating Poisson random variables" (1993), PTRS, for rates
// of 10 and more: on average 1.2 trials.
double by_rejection(double rate, Trials& trials) {
  const double log_rate = math::log(rate);
  const double b = 0.931 + 2.53 * math::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), squeeze = 0.9277 - 3.6224 / (b - 2.0);
  for (;;) {
    const auto [number, v] = trials.next();
    const double u = number - 0.5, room = 0.5 - math::abs(u);
    const double events = math::floor((2.0 * a / room + b) * u + rate + 0.43);
    if (room >= 0.07 && v <= squeeze) return events;
    if (!(events >= 0.0) || (room < 0.013 && v > room)) continue;
    const double height = math::log(v) + math::log(inverse_alpha) - math::log(a / (room * room) + b);
    if (height <= -rate + events * log_rate - math::lgamma(events + 1.0)) return events;
  }
}

}  // namespace

void fill_poisson(const Tensor& out, const Tensor& rates, const Generator& draw) {
  const auto* const rate = rates.data<double>();
  auto* const to = out.writable<double>();
  parallel_for(out.numel(), 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Trials trials(draw, i);
      to[i] = rate[i] < 10.0 ? by_inversion(rate[i], trials) : by_rejection(rate[i], trials);
    }
  });
}

}  // namespace kiln::cpu
