#include "tensor/cpu/random/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/prefetch.h"
#include "tensor/cpu/random/random.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/philox.h"

namespace kiln::cpu {
namespace {

// Fisher and Yates' shuffle, in one thread: each step depends on those before. Its places do not, so memory
// is asked for some steps ahead.
template <class Index>
void shuffle(Index* items, std::int64_t count, const Generator& draw) {
  constexpr std::int64_t kAhead = 64;
  WordStream words(draw);
  std::int64_t others[kAhead];
  for (std::int64_t last = count - 1; last > 0; last -= kAhead) {
    check_interrupt();
    const std::int64_t steps = std::min(last, kAhead);
    for (std::int64_t s = 0; s < steps; ++s) {
      others[s] = static_cast<std::int64_t>(words.below(static_cast<std::uint64_t>(last - s) + 1));
      cpu::prefetch_to_write(items + others[s]);
    }
    for (std::int64_t s = 0; s < steps; ++s) std::swap(items[last - s], items[others[s]]);
  }
}

void check_weights(const double* weights, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (weights[i] >= 0 && !std::isinf(weights[i])) continue;
    throw OpError(ErrorKind::Value, fmt::format("multinomial: a weight is {}", weights[i]), {0});
  }
}
void check_total(double total) {
  if (total > 0) return;
  throw OpError(ErrorKind::Value, "multinomial: all weights of a row are 0", {0});
}

// Draws from the running totals of one row's weights; draws do not depend on each other.
void draw_with_replacement(const double* weights, std::int64_t classes, std::int64_t* out,
                           std::int64_t samples, std::uint64_t first_word, const Generator& draw) {
  std::vector<double> totals(static_cast<std::size_t>(classes));
  std::partial_sum(weights, weights + classes, totals.begin());
  check_total(totals.back());
  // Where rounding makes a place the total itself, it is the last one with a weight that was meant.
  std::int64_t last = classes - 1;
  while (weights[last] == 0) --last;
  parallel_for(samples, 4096, [&](std::int64_t begin, std::int64_t end) {
    WordStream words(draw, first_word + static_cast<std::uint64_t>(begin));
    for (std::int64_t s = begin; s < end; ++s) {
      check_interrupt();
      const double place = unit_double(words.next()) * totals.back();
      const auto above = std::upper_bound(totals.begin(), totals.end(), place);
      out[s] = std::min<std::int64_t>(above - totals.begin(), last);
    }
  });
}

// A binary tree of sums over weights, so that one is found and taken out in as many steps as it is deep.
class SumTree {
 public:
  SumTree(const double* weights, std::int64_t count) {
    while (leaves_ < static_cast<std::size_t>(count)) leaves_ *= 2;
    sums_.resize(2 * leaves_, 0.0);
    std::copy_n(weights, count, sums_.begin() + static_cast<std::ptrdiff_t>(leaves_));
    for (std::size_t i = leaves_ - 1; i > 0; --i) sums_[i] = sums_[2 * i] + sums_[2 * i + 1];
  }
  double total() const { return sums_[1]; }

  // The one in whose share of the total `place` lies; takes it out.
  std::int64_t take(double place) {
    std::size_t node = 1;
    while (node < leaves_) {
      node *= 2;
      if (sums_[node + 1] == 0 || (place < sums_[node] && sums_[node] != 0)) continue;
      place -= sums_[node];
      ++node;
    }
    const auto taken = static_cast<std::int64_t>(node - leaves_);
    sums_[node] = 0;
    for (node /= 2; node > 0; node /= 2) sums_[node] = sums_[2 * node] + sums_[2 * node + 1];
    return taken;
  }

 private:
  std::size_t leaves_ = 1;
  std::vector<double> sums_;  // node i has children 2 i and 2 i + 1
};

// Each is taken out once it was drawn, so as many as are wanted must have a weight.
void check_enough(const double* weights, std::int64_t classes, std::int64_t samples) {
  const auto positive = std::count_if(weights, weights + classes, [](double weight) { return weight > 0; });
  if (positive >= samples) return;
  throw OpError(
      ErrorKind::Value,
      fmt::format("multinomial: {} are wanted without replacement, and {} weight{} of a row {} not 0",
                  samples, positive, positive == 1 ? "" : "s", positive == 1 ? "is" : "are"),
      {0}, "`replacement=true` lets one be drawn again");
}

void draw_without_replacement(const double* weights, std::int64_t classes, std::int64_t* out,
                              std::int64_t samples, std::uint64_t first_word, const Generator& draw) {
  SumTree tree(weights, classes);
  check_total(tree.total());
  check_enough(weights, classes, samples);
  WordStream words(draw, first_word);
  for (std::int64_t s = 0; s < samples; ++s) {
    check_interrupt();
    out[s] = tree.take(unit_double(words.next()) * tree.total());
  }
}

}  // namespace

void permutation(const Tensor& out, const Generator& draw) {
  const std::int64_t count = out.numel();
  const bool small = count <= std::int64_t{1} << 31;  // half the memory to jump around in
  const Tensor items = small ? Tensor::empty(out.sizes(), DType::I32, Device{}) : out;
  const auto fill = [&]<class Index>(Index* to) {
    in_pieces(static_cast<std::size_t>(count), kPieceOfValues, [&](std::size_t begin, std::size_t end) {
      std::iota(to + begin, to + end, static_cast<Index>(begin));
    });
    shuffle(to, count, draw);
  };
  small ? fill(items.writable<std::int32_t>()) : fill(items.writable<std::int64_t>());
  if (small) copy(out, items);
}

void draw_by_weight(const Tensor& out, const Tensor& weights, bool replacement, const Generator& draw) {
  if (out.numel() == 0) return;
  const std::int64_t classes = weights.size(weights.rank() - 1), samples = out.size(out.rank() - 1);
  if (classes == 0) throw OpError(ErrorKind::Value, "multinomial: there are no categories to draw from", {0});
  const auto* from = weights.data<double>();
  auto* to = out.writable<std::int64_t>();
  check_weights(from, weights.numel());
  const auto draw_row = replacement ? draw_with_replacement : draw_without_replacement;
  const std::int64_t work = classes + 16 * samples;
  parallel_for(out.numel() / samples, std::max<std::int64_t>(1, 16384 / work),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row)
                   draw_row(from + row * classes, classes, to + row * samples, samples,
                            static_cast<std::uint64_t>(row * samples), draw);
               });
}

}  // namespace kiln::cpu
