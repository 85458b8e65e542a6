#include "tensor/cpu/products/panel_product.h"

#include <algorithm>
#include <vector>

#include "tensor/cpu/products/panel_job.h"

namespace kiln::cpu::panels {
namespace {

// Multiply-adds below which a call costs more than it saves, on the processor that docs/performance.md tells
// of.
constexpr std::int64_t kLeastWork = 6144;

// ---- Deep products ----------------------------------------------------------------------------------------

// Where sums are far longer than there are sums, threads share the depth: segments of it are products of
// their own, which are added in order.
constexpr std::int64_t kSegments = kManyProducts, kLeastSegment = 512, kMostDeep = 1 << 17;

bool is_deep(std::size_t count, std::int64_t m, std::int64_t n, std::int64_t k) {
  return static_cast<std::int64_t>(count) < kManyProducts && k >= kSegments * kLeastSegment &&
         m * n <= kMostDeep;
}

// `done` is called with ranges of elements of c.
template <class T>
void multiply_deep(const Product<T>& product, std::int64_t m, std::int64_t n, std::int64_t k, RangeFn done) {
  const std::int64_t length = k / kSegments / kPanelRun * kPanelRun, rest = k - kSegments * length;
  const std::int64_t size = m * n;
  const Room<T> room((kSegments + 1) * size);
  T* const sums = room.data();
  std::vector<Product<T>> segments;
  for (std::int64_t i = 0; i <= kSegments; ++i) {
    const MatrixView<T>&a = product.a, &b = product.b;
    segments.push_back({{a.data + i * length * a.column, a.row, a.column},
                        {b.data + i * length * b.row, b.row, b.column},
                        sums + i * size});
  }
  const std::span<const Product<T>> all(segments);
  Job<T>(all.first(kSegments), m, n, length, nullptr).multiply();
  if (rest > 0) Job<T>(all.last(1), m, n, rest, nullptr).multiply();
  const std::int64_t count = kSegments + (rest > 0 ? 1 : 0);
  parallel_for(m, ceil_divide(kLayGrain, n), [&](std::int64_t first, std::int64_t last) {
    const std::int64_t begin = first * n, end = last * n;
    std::copy(sums + begin, sums + end, product.c + begin);
    for (std::int64_t s = 1; s < count; ++s)
      for (std::int64_t i = begin; i < end; ++i) product.c[i] += sums[s * size + i];
    done(begin, end);
  });
}

}  // namespace

template <class T>
bool pays(std::int64_t m, std::int64_t n, std::int64_t k) {
  return m * n * k > kLeastWork && panel_kernels().of<T>().multiply != nullptr;
}

template <class T>
void multiply(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k,
              const RangeFn* done) {
  if (!is_deep(products.size(), m, n, k)) return Job<T>(products, m, n, k, done).multiply();
  for (std::size_t i = 0; i < products.size(); ++i) {
    const std::int64_t before = static_cast<std::int64_t>(i) * m * n;
    const auto is_done = [&](std::int64_t begin, std::int64_t end) {
      if (done != nullptr) (*done)(before + begin, before + end);
    };
    multiply_deep<T>(products[i], m, n, k, is_done);
  }
}

template bool pays<float>(std::int64_t, std::int64_t, std::int64_t);
template bool pays<double>(std::int64_t, std::int64_t, std::int64_t);
template void multiply<float>(std::span<const Product<float>>, std::int64_t, std::int64_t, std::int64_t,
                              const RangeFn*);
template void multiply<double>(std::span<const Product<double>>, std::int64_t, std::int64_t, std::int64_t,
                               const RangeFn*);

}  // namespace kiln::cpu::panels
