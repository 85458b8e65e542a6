// Generated from the op table: every tensor argument of every sample as what it is not meant to be. An op
// says that it does not fit, or takes it for what it stands for, and reads nothing beside it: around each
// argument lies what would change the result.
#include <catch2/catch.hpp>

#include "tests/tensor/samples_operands.h"

namespace kiln::operands_test {

using namespace kiln::testing;

namespace {

// The elements of x, contiguous, between others that are `around`.
Tensor among(const Tensor& x, unsigned char around) {
  constexpr Dim kMargin = 64;
  const auto bytes = static_cast<std::size_t>(x.numel() + 2 * kMargin) * size_of(x.dtype());
  const Ref<Buffer> buffer = Buffer::allocate(bytes, x.device());
  std::memset(buffer->data(), x.dtype() == DType::Bool ? around & 1 : around, bytes);
  const Tensor result = Tensor::from_storage(Storage::create(buffer),
                                             {x.sizes(), contiguous_strides(x.sizes()), kMargin}, x.dtype());
  result.impl()->is_number = x.is_number();
  for (std::int64_t i = 0; i < x.numel(); ++i) set_element(result, i, element(x, i));
  return result;
}

struct Outcome {
  Tensors outputs;
  std::string error;  // empty: there are outputs
};
Outcome outcome(const std::function<Tensors()>& run) {
  try {
    return {run(), {}};
  } catch (const OpError& error) {
    return {{}, error.message()};
  }
}

using Run = std::function<Tensors(const std::vector<Tensor>& inputs)>;

// What a run gives whatever lies around its arguments.
Outcome checked(const Operands& operands, const Run& run) {
  const auto among_others = [&](unsigned char around) {
    std::vector<Tensor> placed;
    for (const Tensor& x : operands.inputs) placed.push_back(x ? among(x, around) : x);
    return outcome([&] { return run(placed); });
  };
  Outcome first = among_others(0x00);
  if (operands.op.has(kCountsPlaces)) return first;  // which are meant to be seen
  for (const unsigned char around : {0x7b, 0xff}) {
    const Outcome other = among_others(around);
    CHECK(other.error == first.error);
    REQUIRE(other.outputs.size() == first.outputs.size());
    for (std::size_t k = 0; k < first.outputs.size(); ++k)
      CHECK(same_bits(other.outputs[k], first.outputs[k]));
  }
  return first;
}

// Also of the `_` form.
Outcome checked(const Operands& operands) {
  INFO(operands.described());
  const Op& op = operands.op;
  const Tensor& target = operands.inputs[0];
  if (op.has(kInplace) && !op.writes_metadata() && target && !target.is_number()) {
    checked(operands, [&](const std::vector<Tensor>& inputs) {
      return Tensors{bind_inplace(op, inputs, operands.attrs)};
    });
  }
  return checked(operands,
                 [&](const std::vector<Tensor>& inputs) { return kiln::bind(op, inputs, operands.attrs); });
}

Outcome with(const Operands& operands, const Tensor& other) {
  std::vector<Tensor> inputs = operands.inputs;
  inputs[operands.changed] = other;
  return outcome([&] { return kiln::bind(operands.op, inputs, operands.attrs); });
}

bool near(const Tensor& a, const Tensor& b, long double tolerance) {
  if (a.sizes() != b.sizes()) return false;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const long double x = element(a, i), y = element(b, i);
    const bool equal = x == y || (std::isnan(x) && std::isnan(y));
    if (!equal && !(std::abs(x - y) <= tolerance * std::max(1.0L, std::abs(y)))) return false;
  }
  return true;
}

// All results are floats, none of them beyond what its dtype holds.
bool are_finite(const Outcome& outcome) {
  for (const Tensor& y : outcome.outputs) {
    if (!is_float(y.dtype())) return false;
    for (const long double each : elements(y))
      if (!std::isfinite(each)) return false;
  }
  return true;
}

void check_near(const Outcome& found, const Outcome& expected, long double tolerance) {
  REQUIRE(found.outputs.size() == expected.outputs.size());
  for (std::size_t k = 0; k < found.outputs.size(); ++k) {
    INFO("is " << describe(found.outputs[k]) << ", should be " << describe(expected.outputs[k]));
    CHECK(near(found.outputs[k], expected.outputs[k], tolerance));
  }
}

}  // namespace

TEST_CASE("an argument of other sizes is refused, or nothing is read beside it", "[operands]") {
  int calls = 0;
  each_with_other_sizes([&calls](const Operands& operands) {
    checked(operands);
    ++calls;
  });
  CHECK(calls > 0);
}

// Where the op takes it at all: as the tensor of that element, or as one that has it everywhere.
TEST_CASE("a number is the tensor of that element", "[operands]") {
  each_with_number([](const Operands& operands) {
    const Outcome number = checked(operands);
    const Tensor& meant = operands.meant[operands.changed];
    if (!number.error.empty() || meant.is_number() || operands.op.has(kCountsPlaces)) return;
    Outcome tensor = with(operands, first_of(meant));
    if (!tensor.error.empty()) tensor = with(operands, with_sizes(first_of(meant), meant.sizes()));
    INFO(operands.described() << ": " << tensor.error);
    CHECK(tensor.error.empty());
    if (tensor.error.empty()) check_near(number, tensor, 1e-6L);
  });
}

TEST_CASE("an argument of another dtype is refused, or counts as what it holds", "[operands]") {
  each_with_other_dtype([](const Operands& operands) {
    const Outcome other = checked(operands);
    const Tensor& meant = operands.meant[operands.changed];
    const Tensor& x = operands.inputs[operands.changed];
    if (!other.error.empty() || x.dtype() == DType::Bool || meant.dtype() == DType::Bool) return;
    if (operands.op.has(kCountsPlaces)) return;
    const Outcome same = with(operands, in_dtype(x, meant.dtype()));
    if (!same.error.empty() || !are_finite(other) || !are_finite(same)) return;
    INFO(operands.described());
    check_near(other, same, 0.1L);
  });
}

}  // namespace kiln::operands_test
