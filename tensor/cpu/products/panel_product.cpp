#include "tensor/cpu/products/panel_product.h"

#include "tensor/cpu/products/panel_job.h"

namespace kiln::cpu::panels {

bool are_there() { return panel_kernels().f32.multiply != nullptr; }

template <class T>
void multiply(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k,
              std::int64_t parts, const RangeFn* done) {
  Job<T>(products, m, n, k, parts, done).multiply();
}

template void multiply<float>(std::span<const Product<float>>, std::int64_t, std::int64_t, std::int64_t,
                              std::int64_t, const RangeFn*);
template void multiply<double>(std::span<const Product<double>>, std::int64_t, std::int64_t, std::int64_t,
                               std::int64_t, const RangeFn*);

}  // namespace kiln::cpu::panels
