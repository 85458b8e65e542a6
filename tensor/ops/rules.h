// Owns what the rows of several op families share: applying an op by name, reading dims, rules of linear ops.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "tensor/functions.h"
#include "tensor/op.h"

namespace kiln::rules {

// Applies `op` to inputs with its attributes given in the order of the signature; the rest keep their
// defaults.
Tensors apply(const Op& op, Inputs inputs, std::initializer_list<Attr> attrs = {});
Tensor apply_one(const Op& op, Inputs inputs, std::initializer_list<Attr> attrs = {});
Tensor apply_one(const Op& op, std::initializer_list<Tensor> inputs, std::initializer_list<Attr> attrs = {});

inline Dims to_dims(std::span<const Dim> values) { return Dims(values.begin(), values.end()); }
Layout contiguous_layout(std::span<const Dim> sizes);
// `sizes` with `size` before them: the shape of a batch.
Dims prepend(Dim size, std::span<const Dim> sizes);
TensorType with_sizes(const TensorType& type, Dims sizes);
TensorType with_dtype(TensorType type, DType dtype);

// The attribute `name`, a dimension, counted from the front of a tensor of `rank`.
int dim_attr(const Attrs& attrs, std::string_view name, int rank);
// The attributes with the dimension `name` counted from the front of a tensor of `rank` and moved one to the
// right.
Attrs shift_dim(const Attrs& attrs, std::string_view name, int rank);
// The dtype in the attribute `dtype`, else `otherwise`; likewise the device.
DType dtype_attr(const Attrs& attrs, DType otherwise);
Device device_attr(const Attrs& attrs, Device otherwise = default_device());
// A Number attribute as a 0-d host number.
Tensor number_attr(const Attr& attr);
double float_of(const Attr& attr);
// The largest finite value of a float dtype; 0 for others.
double largest_float(DType dtype);
// Throws when `value` is a number that `dtype` cannot hold. OpError (Overflow): an integer outside of its
// range, a finite float beyond the largest f32 or f64. OpError (DType): a fraction, nan or an infinity for
// integers, which would be lost in silence. Halves round to infinity, bool holds all.
void check_fits(const Tensor& value, DType dtype, std::string_view op, int operand = -1);

// A tensor with the batch as dimension 0, of the given rank without it: size-1 dimensions are put in between.
Tensor pad_rank(const Tensor& batched, int rank);
// `x` with the batch as dimension 0: itself when batched, else expanded.
Tensor with_batch(const BatchArgs& args, std::size_t input);
// The layout of one example of a batch: the first one's.
Layout example_layout(const Layout& batch);

// Shape rule of a view: what its layout rule says of a contiguous input.
template <ViewFn F>
std::vector<TensorType> infer_view(std::span<const TensorType> inputs, const Attrs& attrs) {
  std::vector<TensorType> types;
  for (Layout& layout : F(contiguous_layout(inputs[0].sizes), attrs)) {
    types.push_back({inputs[0].dtype, inputs[0].device, std::move(layout.sizes)});
  }
  return types;
}
// One output like input 0.
std::vector<TensorType> infer_same(std::span<const TensorType> inputs, const Attrs& attrs);
// For ops with one input that are linear in it: the tangent goes through the op.
Tensors jvp_linear(const JvpArgs& args);
// For ops that work along trailing dimensions and do not mind a batch in front.
Tensors batch_through(const BatchArgs& args);

// Throws OpError (DType) unless `index` is an integer tensor.
void check_index_dtype(const TensorType& index, std::string_view op, int operand);
// Throws the IndexError for an index outside of a dimension.
[[noreturn]] void index_out_of_bounds(std::int64_t index, int dim, Dim size, std::vector<int> operands = {});

}  // namespace kiln::rules
