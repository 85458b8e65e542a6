// Kernels of the Fourier transforms.
#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/fourier/real.h"
#include "tensor/cpu/fourier/transform.h"
#include "tensor/ops/fourier.h"

namespace kiln::cpu {
namespace {

// Calls f with the element type of the operand, made dense.
template <class F>
void of_dense(const Tensor& x, const F& f) {
  const Tensor from = dense(x, x.dtype());
  x.dtype() == DType::F64 ? f.template operator()<double>(from) : f.template operator()<float>(from);
}

void dft(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  if (outputs[0].numel() == 0) return;
  const bool inverse = attrs.get<bool>("inverse");
  const std::int64_t n = inputs[0].size(inputs[0].rank() - 2), count = outputs[0].numel().fixed() / (2 * n);
  const double factor = fourier_factor(attrs, inverse, n);
  of_dense(inputs[0], [&]<class T>(const Tensor& x) {
    transform(*fourier_plan<T>(n),
              FourierLines<T>{x.data<T>(), 2 * n, outputs[0].writable<T>(), 2 * n, count}, inverse,
              static_cast<T>(factor));
  });
}

template <class T>
RealLines<T> lines_of(std::int64_t n, const Tensor& real, const Attrs& attrs, bool inverse,
                      std::string_view weight) {
  return {n, real.numel().fixed() / n, static_cast<T>(fourier_factor(attrs, inverse, n)),
          attrs.get<bool>(weight)};
}
void rdft(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  if (outputs[0].numel() == 0) return;
  const std::int64_t n = inputs[0].size(inputs[0].rank() - 1);
  of_dense(inputs[0], [&]<class T>(const Tensor& x) {
    transform_real(lines_of<T>(n, x, attrs, false, "doubled"), x.data<T>(), outputs[0].writable<T>());
  });
}
void irdft(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  if (outputs[0].numel() == 0) return;
  const auto n = attrs.get<std::int64_t>("n");
  of_dense(inputs[0], [&]<class T>(const Tensor& x) {
    transform_to_real(lines_of<T>(n, outputs[0], attrs, true, "halved"), x.data<T>(),
                      outputs[0].writable<T>());
  });
}

}  // namespace

void add_fourier_kernels(Column& column) {
  column.add("dft", dft);
  column.add("rdft", rdft);
  column.add("irdft", irdft);
}

}  // namespace kiln::cpu
