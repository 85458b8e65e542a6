// Generated from the op table: which rows can raise for the elements of their inputs alone. The compiler
// keeps such an application though nothing reads its result.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <set>

#include "tensor/functions.h"
#include "tensor/ops/pointwise.h"
#include "tensor/ops/row_flags.h"
#include "tensor/random.h"
#include "tests/tensor/samples.h"

namespace kiln::failure_test {

using namespace kiln::testing;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kElements[] = {0, -1, 1, 3, -1000, 1000, 1e300, -1e300, kNan, HUGE_VAL};

// Every element, or only the first, is another.
Tensor poisoned(const Tensor& x, double element_of, bool all) {
  const bool fits = is_float(x.dtype()) || std::abs(element_of) < 1e6;  // also false for nan
  if (!fits) return {};
  return make(x.sizes(), x.dtype(), [&](std::int64_t i) {
    return all || i == 0 ? element_of : static_cast<double>(element(x, i));
  });
}

bool raises(const Op& op, const std::vector<Tensor>& inputs, const Attrs& attrs) {
  try {
    kiln::bind(op, inputs, attrs);
    return false;
  } catch (const OpError&) {
    return true;
  }
}

bool raises_for_elements(const Op& op, const std::vector<Tensor>& inputs, const Attrs& attrs) {
  if (raises(op, inputs, attrs)) return false;  // for its types
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || inputs[i].is_number() || inputs[i].dtype() == DType::Bool) continue;
    for (const double each : kElements) {
      for (const bool all : {true, false}) {
        std::vector<Tensor> given = inputs;
        given[i] = poisoned(inputs[i], each, all);
        if (given[i] && raises(op, given, attrs)) return true;
      }
    }
  }
  return false;
}

// The sample with integers for floats, which is another way to be wrong.
std::vector<Tensor> integers(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> result;
  for (const Tensor& each : inputs) {
    const bool real = each && is_float(each.dtype()) && !each.is_number();
    result.push_back(!real ? each : make(each.sizes(), DType::I64, [](std::int64_t i) { return 1 + i % 3; }));
  }
  return result;
}

}  // namespace

TEST_CASE("rows that raise for some elements say so", "[tensor][rules]") {
  for (const Op* op : OpTable::get().ops()) {
    INFO(op->name());
    bool raised = false;
    for (const Sample& sample : samples_of(*op)) {
      const Attrs attrs = attrs_of(*op, sample.attrs);
      const std::vector<Tensor> inputs = sample.in_domain(sample.inputs);
      const bool as_given = raises_for_elements(*op, inputs, attrs);
      // The compiler drops elementwise rows of floats, but for those that say that they fail.
      const bool keeps_floats = op->pointwise != nullptr && (op->pointwise->flags & kFailsOfFloats) == 0;
      if (keeps_floats && is_float(inputs[0].dtype())) CHECK_FALSE(as_given);
      raised = raised || as_given || raises_for_elements(*op, integers(inputs), attrs);
    }
    CHECK(op->may_fail() == raised);
  }
}

TEST_CASE("rows that draw random numbers say so", "[tensor][rules]") {
  for (const Op* op : OpTable::get().ops()) {
    const std::uint64_t before = generator().offset;
    for (const Sample& sample : samples_of(*op)) {
      raises(*op, sample.in_domain(sample.inputs), attrs_of(*op, sample.attrs));
    }
    INFO(op->name());
    if (generator().offset != before) CHECK(op->draws());
  }
  const Tensor x = ops::ones(Dims{2, 3}, DType::F32);
  const std::uint64_t before = generator().offset;
  const Op& attention = OpTable::get().at("scaled_dot_product_attention");
  kiln::bind(attention, std::vector<Tensor>{x, x, x, {}}, attrs_of(attention, {{"dropout_p", 0.5}}));
  CHECK(generator().offset != before);
  CHECK(attention.draws());
}

}  // namespace kiln::failure_test
