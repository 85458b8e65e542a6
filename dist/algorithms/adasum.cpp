#include <cfloat>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "dist/algorithms/moves.h"
#include "dist/algorithms/reductions.h"
#include "tensor/convert.h"

namespace kiln::dist {
namespace {

// What one of the two vectors of a pair is multiplied by.
double coefficient(double product, double squared_norm) {
  return squared_norm < std::sqrt(DBL_MIN) ? 1.0 : 1.0 - product / (2.0 * squared_norm);
}

template <class W>
void combine(std::vector<W>& a, const std::vector<W>& b) {
  double product = 0, norm_a = 0, norm_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i];
    product += x * y;
    norm_a += x * x;
    norm_b += y * y;
  }
  const double scale_a = coefficient(product, norm_a), scale_b = coefficient(product, norm_b);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<W>(scale_a * double{a[i]} + scale_b * double{b[i]});
}

// Leaves T(lo, n) with member lo.
template <class W>
void combine_tree(const Group& group, std::size_t lo, std::size_t n, std::vector<W>& mine) {
  if (n == 1) return;
  const std::size_t cut = cut_of_tree(n), middle = lo + cut;
  if (group.me < middle) {
    combine_tree(group, lo, cut, mine);
    if (group.me != lo) return;
    std::vector<W> right(mine.size());
    group.receive(middle, std::as_writable_bytes(std::span(right)))->wait();
    combine(mine, right);
  } else {
    combine_tree(group, middle, n - cut, mine);
    if (group.me == middle) group.send(lo, std::as_bytes(std::span(mine)))->wait();
  }
}

template <class T>
void adasum_of(const Group& group, std::span<std::byte> data) {
  using W = std::remove_cvref_t<decltype(scalar::widen(T{}))>;
  T* const elements = reinterpret_cast<T*>(data.data());
  std::vector<W> mine(data.size() / sizeof(T));
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = scalar::widen(elements[i]);
  combine_tree(group, 0, group.size(), mine);
  for (std::size_t i = 0; i < mine.size(); ++i) elements[i] = scalar::convert<T>(mine[i]);
  broadcast(group, 0, data);
}

}  // namespace

void adasum(const Group& group, DType dtype, std::span<std::byte> data) {
  if (!is_float(dtype))
    throw std::invalid_argument("Adasum is for floats, not for " + std::string(name(dtype)));
  if (data.empty() || group.size() == 1) return;
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> || std::is_floating_point_v<T>)
      adasum_of<T>(group, data);
  });
}

}  // namespace kiln::dist
