// Kernels of channel_affine and its derivative: one pass over memory each.
#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/folds/channel_sums.h"

namespace kiln::cpu {
namespace {

template <class T>
void affine(Inputs in, Outputs outputs) {
  const Tensor x = dense(in[0], in[0].dtype());
  const Tensor scale = dense(in[1], x.dtype()), shift = dense(in[2], x.dtype());
  const Tensor& y = outputs[0];
  const T *from = x.data<T>(), *factor = scale.data<T>(), *term = shift.data<T>();
  T* to = y.writable<T>();
  each_run(Channels(x.sizes()).all, [&](const Run& run, std::int64_t at, std::int64_t, std::int64_t c) {
    channel_kernels<T>().affine(run, factor + c, term + c, from + at, to + at);
  });
}

template <class T>
void affine_backward(Inputs in, Outputs outputs) {
  const DType dtype = in[1].dtype();
  const Tensor g = dense(in[0], dtype), x = dense(in[1], dtype), scale = dense(in[2], dtype);
  const Tensor &dx = outputs[0], &dscale = outputs[1], &dshift = outputs[2];
  const T *grads = g.data<T>(), *from = x.data<T>(), *factor = scale.data<T>();
  T *out = dx.writable<T>(), *scales = dscale.writable<T>(), *shifts = dshift.writable<T>();
  Channels(x.sizes()).each_block([&](const ChannelBlock& block) {
    if (block.inner == 1) {
      const auto channels = static_cast<std::size_t>(block.count);
      const std::vector<T> means(channels, T(0)), rstds(channels, T(1));  // which change no bit
      column_sums_of(g, x, means.data(), rstds.data(), scales, shifts);
    } else {
      sums_of_made(block, scales + block.first, [&](const Run& run, std::int64_t at, T* to, std::int64_t) {
        channel_kernels<T>().multiply(run.count, grads + at, from + at, to);
      });
      sums_of(g, block, T(1), shifts + block.first);
    }
    each_run(block, [&](const Run& run, std::int64_t at, std::int64_t, std::int64_t c) {
      channel_kernels<T>().affine(run, factor + block.first + c, nullptr, grads + at, out + at);
    });
  });
}

// Halves round after each of the smaller ops.
bool takes(const Op&, const Attrs&, Inputs in) {
  return in[0].dtype() == DType::F64 || in[0].dtype() == DType::F32;
}
bool takes_backward(const Op& op, const Attrs& attrs, Inputs in) {
  return takes(op, attrs, in) && in[1].numel() > 0;
}

void run_affine(const Op&, const Attrs&, Inputs in, Outputs outputs, Stream&) {
  in[0].dtype() == DType::F64 ? affine<double>(in, outputs) : affine<float>(in, outputs);
}
void run_affine_backward(const Op&, const Attrs&, Inputs in, Outputs outputs, Stream&) {
  in[1].dtype() == DType::F64 ? affine_backward<double>(in, outputs) : affine_backward<float>(in, outputs);
}

}  // namespace

void add_channel_affine_kernels(Column& column) {
  column.add("channel_affine", {.run = run_affine, .takes = takes});
  column.add("channel_affine_backward", {.run = run_affine_backward, .takes = takes_backward});
}

}  // namespace kiln::cpu
