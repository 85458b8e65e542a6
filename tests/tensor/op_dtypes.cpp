#include "tests/tensor/op_dtypes.h"

#include <algorithm>

namespace kiln::testing {
namespace {

bool is_real(const Tensor& x) { return x && x.dtype() == DType::F64 && !x.is_number(); }

Tensor converted(const Tensor& x, DType dtype) {
  if (!is_real(x) || is_float(dtype)) return ops::to(x, dtype);
  return make(x.sizes(), dtype, [&](std::int64_t i) {
    const auto value = static_cast<double>(std::round(3 * element(x, i)));
    return dtype == DType::U8 ? std::abs(value) : value;
  });
}

}  // namespace

std::vector<Tensor> inputs_as(const Sample& sample, DType dtype) {
  std::vector<Tensor> inputs = sample.inputs;
  const bool any_real = std::any_of(inputs.begin(), inputs.end(), is_real);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (any_real ? is_real(inputs[i]) : i == 0) inputs[i] = converted(inputs[i], dtype);
  }
  return inputs;
}

bool takes(const Op& op, const Sample& sample, DType dtype) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs_as(sample, dtype))
    types.push_back(input ? input.type() : TensorType{DType::Bool, Device{}, {}, true});
  try {
    op.infer(types, attrs_of(op, sample.attrs));
    return true;
  } catch (const OpError& error) {
    return error.kind() != ErrorKind::DType;
  }
}

std::vector<DType> dtypes_of(const Op& op) {
  std::vector<DType> dtypes;
  const std::vector<Sample> samples = samples_of(op);
  if (samples.empty() || samples.front().inputs.empty()) return dtypes;
  for (int d = 0; d < kRealDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    const auto accepts = [&](const Sample& sample) { return takes(op, sample, dtype); };
    if (std::all_of(samples.begin(), samples.end(), accepts)) dtypes.push_back(dtype);
  }
  return dtypes;
}

}  // namespace kiln::testing
