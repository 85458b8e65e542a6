#include "tests/tensor/samples_operands.h"

namespace kiln::testing {
namespace {

using Change = std::function<std::vector<Tensor>(const Tensor& x)>;

void each_changed(const Change& others, const EachOperands& f) {
  for (const Op* op : OpTable::get().ops()) {
    if (op->draws() || leaves_elements(*op)) continue;
    for (const Sample& sample : samples_of(*op)) {
      const Attrs attrs = attrs_of(*op, sample.attrs);
      const std::vector<Tensor> meant = sample.in_domain(sample.inputs);
      for (std::size_t i = 0; i < meant.size(); ++i) {
        if (!meant[i]) continue;
        for (const Tensor& other : others(meant[i])) {
          Operands operands{*op, attrs, meant, i, meant};
          operands.inputs[i] = other;
          f(operands);
        }
      }
    }
  }
}

Tensor as_number(const Tensor& x) {
  const long double value = element(x, 0);
  if (x.dtype() == DType::Bool) return Tensor::number(value != 0);
  if (is_float(x.dtype())) return Tensor::number(static_cast<double>(value));
  return Tensor::number(static_cast<std::int64_t>(value));
}

// Each dimension one less, none, and one; a dimension less, and one more; one element.
std::vector<Tensor> of_other_sizes(const Tensor& x) {
  std::vector<Tensor> result;
  for (int d = 0; d < x.rank(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    for (const Dim size : {x.size(d) - 1, Dim{0}, Dim{1}}) {
      if (size < 0 || size == x.size(d)) continue;
      Dims sizes = x.sizes();
      sizes[at] = size;
      result.push_back(with_sizes(x, sizes));
    }
    Dims fewer = x.sizes();
    fewer.erase(fewer.begin() + d);
    result.push_back(with_sizes(x, fewer));
  }
  Dims more{1};
  more.append(x.sizes().begin(), x.sizes().end());
  for (const Dims& sizes : {more, Dims{}, Dims{1}}) result.push_back(with_sizes(x, sizes));
  return result;
}

std::vector<Tensor> of_other_dtypes(const Tensor& x) {
  std::vector<Tensor> result;
  for (const DType dtype : {DType::Bool, DType::U8, DType::I8, DType::I16, DType::I32, DType::I64, DType::F16,
                            DType::BF16, DType::F32, DType::F64}) {
    if (dtype != x.dtype()) result.push_back(in_dtype(x, dtype));
  }
  return result;
}

}  // namespace

std::string Operands::described() const {
  std::string text(op.name());
  for (const Tensor& x : inputs)
    text += " " + (x ? to_string(x.type()) + (x.is_number() ? " number" : "") : "absent");
  return text;
}

void each_with_number(const EachOperands& f) {
  each_changed(
      [](const Tensor& x) { return x.numel() == 0 ? std::vector<Tensor>{} : std::vector{as_number(x)}; }, f);
}
void each_with_other_sizes(const EachOperands& f) { each_changed(of_other_sizes, f); }
void each_with_other_dtype(const EachOperands& f) { each_changed(of_other_dtypes, f); }

Tensor first_of(const Tensor& x) {
  return make(Dims{}, x.dtype(), [&](std::int64_t) { return static_cast<double>(element(x, 0)); });
}

Tensor with_sizes(const Tensor& x, const Dims& sizes) {
  return make(sizes, x.dtype(), [&](std::int64_t i) {
    return x.numel() == 0 ? 0.0 : static_cast<double>(element(x, i % x.numel()));
  });
}

Tensor in_dtype(const Tensor& x, DType dtype) {
  return make(x.sizes(), dtype, [&](std::int64_t i) { return static_cast<double>(element(x, i)); });
}

}  // namespace kiln::testing
