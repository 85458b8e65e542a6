// Do two strided layouts touch a common element? A bounded linear Diophantine equation: does
// sum(stride_i * x_i) = target have a solution with 0 <= x_i <= bound_i? Depth first from the largest stride,
// where the smaller ones leave only a few candidates; gcds cut what divisibility rules out. Layouts made by
// slicing take a handful of steps; a budget bounds the others.
#include <algorithm>
#include <numeric>

#include "tensor/integers.h"
#include "tensor/tensor.h"

namespace kiln {
namespace {

struct Term {
  std::int64_t stride;
  std::int64_t bound;  // of the index, inclusive
};

class Equation {
 public:
  void add(std::int64_t stride, std::int64_t bound) {
    if (stride > 0 && bound > 0) terms_.push_back({stride, bound});
  }
  void add_layout(const Layout& layout, std::int64_t scale) {
    for (std::size_t i = 0; i < layout.sizes.size(); ++i) add(layout.strides[i] * scale, layout.sizes[i] - 1);
  }

  // Conservative: true when the budget runs out.
  bool solvable(std::int64_t target) {
    std::sort(terms_.begin(), terms_.end(), [](const Term& a, const Term& b) { return a.stride < b.stride; });
    merge_equal_strides();
    reach_.clear();
    gcd_.clear();
    std::int64_t reach = 0;
    std::int64_t gcd = 0;
    for (const Term& term : terms_) {
      reach_.push_back(reach += term.stride * term.bound);
      gcd_.push_back(gcd = std::gcd(gcd, term.stride));
    }
    budget_ = 100'000;
    return search(terms_.size(), target);
  }

 private:
  void merge_equal_strides() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      if (kept > 0 && terms_[kept - 1].stride == terms_[i].stride) {
        terms_[kept - 1].bound += terms_[i].bound;
      } else {
        terms_[kept++] = terms_[i];
      }
    }
    terms_.resize(kept);
  }

  bool search(std::size_t count, std::int64_t target) {
    if (count == 0) return target == 0;
    const std::size_t last = count - 1;
    if (target < 0 || target > reach_[last] || target % gcd_[last] != 0) return false;
    if (budget_-- <= 0) return true;
    const Term& term = terms_[last];
    const std::int64_t below = last == 0 ? 0 : reach_[last - 1];
    const std::int64_t most = std::min(term.bound, target / term.stride);
    const std::int64_t least = std::max<std::int64_t>(0, ceil_divide(target - below, term.stride));
    for (std::int64_t x = most; x >= least; --x) {
      if (search(last, target - x * term.stride)) return true;
    }
    return false;
  }

  SmallVector<Term, 12> terms_;
  SmallVector<std::int64_t, 12> reach_, gcd_;  // of the terms up to and with each
  int budget_ = 0;
};

}  // namespace

bool overlaps(const Tensor& a, const Tensor& b) {
  if (!shares_storage(a, b) || a.numel() == 0 || b.numel() == 0) return false;
  const auto bytes_a = static_cast<std::int64_t>(size_of(a.dtype()));
  const auto bytes_b = static_cast<std::int64_t>(size_of(b.dtype()));
  const auto [begin_a, end_a] = extent(a.layout());
  const auto [begin_b, end_b] = extent(b.layout());
  if (end_a * bytes_a <= begin_b * bytes_b || end_b * bytes_b <= begin_a * bytes_a) return false;
  if (a.is_contiguous() && b.is_contiguous()) return true;
  // offset_a + sum(s x) = offset_b + sum(t y); with y = bound - y' every coefficient is positive.
  Equation equation;
  equation.add_layout(a.layout(), bytes_a);
  equation.add_layout(b.layout(), bytes_b);
  if (a.dtype() != b.dtype()) {
    equation.add(1, bytes_a - 1);
    equation.add(1, bytes_b - 1);
    return equation.solvable(end_b * bytes_b - 1 - begin_a * bytes_a);
  }
  return equation.solvable((end_b - 1) * bytes_b - begin_a * bytes_a);
}

// Some dimension d differs by at least one step while the others make up for it:
// s_d * (1 + x_d) + sum of the others' differences = 0, each shifted to start at zero.
bool has_overlap(const Layout& layout) {
  SmallVector<std::pair<Dim, Dim>, 5> dims;  // stride, size
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
    if (layout.sizes[i] == 0) return false;
    if (layout.sizes[i] > 1) dims.push_back({layout.strides[i], layout.sizes[i]});
  }
  std::sort(dims.begin(), dims.end());
  Dim reach = 0;
  bool nested = true;  // each dimension steps over all that the smaller ones reach: the usual case
  for (const auto& [stride, size] : dims) {
    if (stride == 0) return true;
    nested = nested && stride > reach;
    reach += stride * (size - 1);
  }
  if (nested) return false;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    Equation equation;
    Dim target = -dims[d].first;
    equation.add(dims[d].first, dims[d].second - 2);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (i == d) continue;
      equation.add(dims[i].first, 2 * (dims[i].second - 1));
      target += dims[i].first * (dims[i].second - 1);
    }
    if (equation.solvable(target)) return true;
  }
  return false;
}

}  // namespace kiln
