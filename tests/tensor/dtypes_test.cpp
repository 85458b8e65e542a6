// Generated from the op table: every dtype that a row takes gives what the widest of its kind gives.
#include <catch2/catch.hpp>

#include <limits>

#include "tests/tensor/op_dtypes.h"

namespace kiln::dtypes_test {

using namespace kiln::testing;

namespace {

// The distance between 1 and the next number.
long double spacing(DType dtype) {
  switch (dtype) {
    case DType::F16:
      return 0x1p-10L;
    case DType::BF16:
      return 0x1p-7L;
    case DType::F32:
      return 0x1p-23L;
    default:
      return 0x1p-52L;
  }
}

long double largest_size(const Tensor& x) {
  long double largest = 1;
  for (const long double value : elements(x))
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  return largest;
}

// `wide` is what the op gives in f64 or i64; the elements of `x` are those, rounded a few times or wrapped.
bool agrees(const Tensor& x, const Tensor& wide) {
  if (x.sizes() != wide.sizes()) return false;
  if (!is_float(x.dtype())) return same_bits(x, ops::to(wide, x.dtype()));
  const long double tolerance = 16 * spacing(x.dtype()) * largest_size(wide);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const long double a = element(x, i);
    const long double b = element(wide, i);
    if (std::isnan(a) != std::isnan(b)) return false;
    if (!std::isnan(a) && a != b && !(std::abs(a - b) <= tolerance)) return false;
  }
  return true;
}

std::vector<Tensor> widened(const std::vector<Tensor>& inputs, const Sample& sample, DType wide) {
  std::vector<Tensor> result = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] && inputs[i].dtype() != sample.inputs[i].dtype()) result[i] = ops::to(inputs[i], wide);
  return result;
}

// What other dtypes give says nothing of these; complex_test.cpp is of them.
bool is_tested_apart(const Op& op) {
  return op.family == "complex" || op.name() == "view_bits" || op.name() == "view.dtype";
}

}  // namespace

TEST_CASE("every row has samples", "[rules]") {
  for (const Op* op : OpTable::get().ops()) {
    INFO(op->name());
    CHECK(samples_of(*op).empty() == (is_half(*op) || is_tested_apart(*op)));
  }
}

TEST_CASE("every dtype that a row takes works and agrees with the widest", "[rules][dtypes]") {
  for (const Op* op : OpTable::get().ops()) {
    for (const Sample& sample : samples_of(*op)) {
      if (sample.inputs.empty()) continue;
      const Attrs attrs = attrs_of(*op, sample.attrs);
      for (int d = 0; d < kRealDTypeCount; ++d) {
        const auto dtype = static_cast<DType>(d);
        if (!takes(*op, sample, dtype)) continue;
        INFO(op->name() << " of " << name(dtype));
        const std::vector<Tensor> inputs = inputs_as(sample, dtype);
        Tensors outputs;
        try {
          outputs = run_eager(*op, inputs, attrs);
        } catch (const OpError& error) {  // of values: a division by zero, a fraction among integers
          INFO(error.message());
          CHECK(error.kind() ==
                (is_integer(dtype) && error.message().find("is no integer") != std::string::npos
                     ? ErrorKind::DType
                     : ErrorKind::Value));
          continue;
        }
        // Without an order of its own, or about the memory, or where true + true is true.
        if (op->draws() || op->view != nullptr || leaves_elements(*op) || dtype == DType::Bool) continue;
        const DType wide = is_float(dtype) ? DType::F64 : DType::I64;
        const Tensors expected = run_eager(*op, widened(inputs, sample, wide), attrs);
        REQUIRE(outputs.size() == expected.size());
        for (std::size_t k = 0; k < outputs.size(); ++k) {
          INFO("output " << k << ": " << describe(outputs[k]) << ", in " << name(wide) << " "
                         << describe(expected[k]));
          CHECK(agrees(outputs[k], expected[k]));
        }
      }
    }
  }
}

}  // namespace kiln::dtypes_test
