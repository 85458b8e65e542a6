// Owns what an elementwise row says beyond its Op: dtypes, parameters, derivatives, ranges for tests.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tensor/op.h"
#include "tensor/ops/row_flags.h"
#include "tensor/pointwise_params.h"

namespace kiln {

// How the dtype of the result follows from the promoted dtype of the operands, and which are refused.
enum class TypeRule : std::uint8_t {
  Same,        // the promoted dtype
  First,       // the dtype of the first operand, to which the others are cast
  Arithmetic,  // the promoted dtype; bool is refused
  Difference,  // likewise, with a bool among the operands too: it is mostly meant to be a mask
  Float,       // likewise; bool and integers become the default float
  Predicate,   // bool
  Bitwise,     // the promoted dtype; floats are refused
  Integer,     // likewise; bool is refused, too
  Quotient,    // Float, but Arithmetic when the first attribute is given
};

inline constexpr std::uint32_t kPointwiseTraits = kCheapToRecompute | kInplace;

// The derivative along one operand as a linear map of g: of a tangent, and (being diagonal) of a cotangent.
using Derivative = Tensor (*)(const Tensor& g, Inputs inputs, const Tensor& y, const Params& params);

struct SampleRange {
  double low, high;
};

struct Pointwise {
  int row;       // position among the rows, as in the kernel tables
  int operands;  // 1, 2 or 3
  TypeRule rule;
  int mask;                                 // the operand read as bool, or -1
  std::string_view failure;                 // what a kernel means that reports a bad element
  std::array<Derivative, 3> derivatives{};  // null where there is none
  std::array<SampleRange, 3> samples{};
  std::uint32_t flags = 0;  // kRowFlags
};

// Types as the rule sees them. `is_number` and rank matter: a number never raises the dtype within its
// category, a 0-d tensor does not within that of tensors with dimensions.
struct OperandType {
  DType dtype;
  bool is_number;
  bool has_dims;
};
// PyTorch's result_type. Where the result is itself a number, they stay f64, i64 or bool.
DType promote_operands(std::span<const OperandType> operands, bool only_numbers);

// What an application computes: converts its operands to `compute`, gets `result`. Throws OpError (DType)
// when the rule refuses `promoted`.
struct PointwiseTypes {
  DType promoted, result;
  Compute compute;
};
PointwiseTypes pointwise_types(const Op& op, std::span<const OperandType> operands, bool only_numbers,
                               const Attrs& attrs);

// What the error says that a kernel of this op reports: its attribute `message`, else the op and its row's
// `failure`.
std::string failure_of(const Op& op, const Attrs& attrs);

// Whether numbers among the operands must fit `promoted`: those that are cast to it, or to an integer where
// what they give might not be of it.
inline bool numbers_must_fit(const Pointwise& row, DType promoted) {
  return row.rule == TypeRule::First || ((row.flags & kNumbersFit) != 0 && is_integer(promoted));
}
// If so, of a number as operand `operand`: a bound below everything changes nothing, nor does one above
// everything.
bool must_fit(const Pointwise& row, int operand, const Tensor& number);

// The numbers of the attributes. Throws OpError (Value) for a word that the op does not know.
Params pointwise_params(const Op& op, const Attrs& attrs, DType promoted);

// Rules of every row.
std::vector<TensorType> pointwise_infer(std::span<const TensorType> inputs, const Attrs& attrs);
// The memory of a result, by the same rule and without a vector of types: eager ops on few elements go this
// way.
Tensor pointwise_output(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors pointwise_vjp(const VjpArgs& args);
Tensors pointwise_jvp(const JvpArgs& args);
Tensors pointwise_batch(const BatchArgs& args);

}  // namespace kiln
