#include "tensor/cpu/products/panel_product.h"

#include "tensor/cpu/products/panel_job.h"

namespace kiln::cpu::panels {
namespace {

// Multiply-adds below which a call costs more than it saves, on the processor that docs/performance.md tells
// of.
constexpr std::int64_t kLeastWork = 6144;

}  // namespace

template <class T>
bool pays(std::int64_t m, std::int64_t n, std::int64_t k) {
  return m * n * k > kLeastWork && panel_kernels().of<T>().multiply != nullptr;
}

template <class T>
void multiply(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k,
              const RangeFn* done) {
  Job<T>(products, m, n, k, done).multiply();
}

template bool pays<float>(std::int64_t, std::int64_t, std::int64_t);
template bool pays<double>(std::int64_t, std::int64_t, std::int64_t);
template void multiply<float>(std::span<const Product<float>>, std::int64_t, std::int64_t, std::int64_t,
                              const RangeFn*);
template void multiply<double>(std::span<const Product<double>>, std::int64_t, std::int64_t, std::int64_t,
                               const RangeFn*);

}  // namespace kiln::cpu::panels
