// Kernels of the convolutions.
#include "tensor/cpu/backend.h"
#include "tensor/cpu/convolution/convolution.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/ops/convolution.h"

namespace kiln::cpu {
namespace {

// Both spatial dimensions, the height 1 when there is only one.
ConvShape::Pair pair_of(const IntDims& values, std::int64_t otherwise) {
  return values.size() == 1 ? ConvShape::Pair{otherwise, values[0]} : ConvShape::Pair{values[0], values[1]};
}

ConvShape shape_of(const IntDims& x, const IntDims& weight, const IntDims& y,
                   const ops::ConvOptions& options) {
  ConvShape shape;
  shape.batch = x[0];
  shape.groups = options.groups;
  shape.in_channels = weight[1];
  shape.out_channels = weight[0] / options.groups;
  shape.in = pair_of(ops::spatial_sizes(x), 1);
  shape.kernel = pair_of(ops::spatial_sizes(weight), 1);
  shape.out = pair_of(ops::spatial_sizes(y), 1);
  shape.stride = pair_of(options.stride, 1);
  shape.padding = pair_of(options.padding, 0);
  shape.dilation = pair_of(options.dilation, 1);
  return shape;
}

ops::ConvOptions options_of(Inputs in, const Attrs& attrs) {
  return ops::conv_options(attrs, in[0].sizes().size() - 2);
}

// Dense operands, of a dtype that the kernels know.
struct Operands {
  Tensor dense[3];

  Operands(Inputs inputs, DType dtype) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i]) dense[i] = cpu::dense(inputs[i], dtype);
  }
};
DType computed_dtype(DType dtype) { return dtype == DType::F16 ? DType::F32 : dtype; }

// Computes into `result`, of the dtype of computation.
using ConvolveFn = void (*)(Inputs in, const Attrs& attrs, const Tensor& result, ResultPieces* pieces);

void forward(Inputs in, const Attrs& attrs, const Tensor& y, ResultPieces* pieces) {
  if (in[2]) ops::check_conv_bias(in[2].type(), in[0].type(), in[1].size(0), attrs);
  const Operands from(in, y.dtype());
  convolve(shape_of(in[0].sizes(), in[1].sizes(), y.sizes(), options_of(in, attrs)), from.dense[0],
           from.dense[1], from.dense[2], y, pieces);
}
void by_input(Inputs in, const Attrs& attrs, const Tensor& x, ResultPieces* pieces) {
  const Operands from(in, x.dtype());
  convolve_input(shape_of(x.sizes(), in[1].sizes(), in[0].sizes(), options_of(in, attrs)), from.dense[0],
                 from.dense[1], x, pieces);
}
void by_weight(Inputs in, const Attrs& attrs, const Tensor& weight, ResultPieces*) {
  const Operands from(in, weight.dtype());
  convolve_weight(shape_of(in[0].sizes(), weight.sizes(), in[1].sizes(), options_of(in, attrs)),
                  from.dense[0], from.dense[1], weight);
}

template <ConvolveFn kConvolve>
void run(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor result = computed_in(outputs[0], computed_dtype(outputs[0].dtype()));
  kConvolve(inputs, attrs, result, nullptr);
  finish(outputs[0], result);
}

// f16 is not handed out in pieces.
template <ConvolveFn kConvolve>
void run_in_pieces(const Op& op, Inputs inputs, const Attrs& attrs, ResultPieces& pieces) {
  std::vector<TensorType> types;
  for (const Tensor& each : inputs)
    types.push_back(each ? each.type() : TensorType{DType::Bool, {}, {}, true});
  const TensorType type = op.infer(types, attrs)[0];
  const Tensor result = Tensor::empty(type.sizes, computed_dtype(type.dtype), type.device);
  pieces.begin(result);
  kConvolve(inputs, attrs, result, &pieces);
}

}  // namespace

void add_convolution_kernels(Column& column) {
  column.add("convolution", run<forward>);
  column.add_pieces("convolution", run_in_pieces<forward>);
  column.add("convolution_input", run<by_input>);
  column.add_pieces("convolution_input", run_in_pieces<by_input>);
  column.add("convolution_weight", run<by_weight>);
}

}  // namespace kiln::cpu
