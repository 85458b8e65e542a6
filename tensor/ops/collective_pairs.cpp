// Collectives of complex tensors: those of their pairs of real numbers.
#include <fmt/format.h>

#include "tensor/functions.h"
#include "tensor/ops/collectives.h"

namespace kiln::ops {
namespace {

// Sums are those of the parts. No other reduction is.
void check_sum(const Op& op, Inputs inputs, const Attrs& attrs) {
  const std::string& word = attrs.get<std::string>("op");
  const ReduceOp reduction = reduce_op_named(word);
  if (reduction == ReduceOp::Sum || reduction == ReduceOp::Average) return;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || !is_complex(inputs[i].dtype())) continue;
    throw OpError(ErrorKind::DType,
                  fmt::format("{}: op=\"{}\" is one of real numbers, got a {}", op.name(), word,
                              to_string(inputs[i].type())),
                  {static_cast<int>(i)},
                  "take op=\"sum\" or op=\"average\", or reduce z.real() and z.imag()");
  }
}

}  // namespace

Tensors of_pairs(const Op& op, Inputs inputs, const Attrs& attrs) {
  Tensors given;
  for (const Tensor& each : inputs) {
    const bool has_pairs = each && is_complex(each.dtype());
    given.push_back(has_pairs ? view_as_real(each) : each);
  }
  Tensors results = kiln::bind(op, given, attrs);
  for (std::size_t i = 0; i < results.size() && i < inputs.size(); ++i)
    if (inputs[i] && is_complex(inputs[i].dtype())) results[i] = view_as_complex(results[i]);
  return results;
}

Tensors sums_of_pairs(const Op& op, Inputs inputs, const Attrs& attrs) {
  check_sum(op, inputs, attrs);
  return of_pairs(op, inputs, attrs);
}

Tensors rows_of_pairs(const Op& op, Inputs inputs, const Attrs& attrs) {
  check_rows(inputs[0].type(), attrs);
  return of_pairs(op, inputs, attrs);
}

}  // namespace kiln::ops
