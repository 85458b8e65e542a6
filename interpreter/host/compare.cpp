// Owns the comparisons of whole tensors.
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"

namespace kiln::interp {
namespace {

using host::bool_argument;
using host::float_argument;

kiln::Tensor number(double value) { return kiln::Tensor::number(value); }

// Equal elements count whatever they are, infinities too; others by distance.
kiln::Tensor close(const kiln::Tensor& x, const kiln::Tensor& y, double rtol, double atol, bool equal_nan) {
  using namespace kiln::ops;
  const kiln::Tensor bound = add(mul(abs(y), number(rtol)), number(atol));
  const kiln::Tensor near = logical_and(le(abs(sub(x, y)), bound), isfinite(y));
  const kiln::Tensor found = logical_or(near, eq(x, y));
  return equal_nan ? logical_or(found, logical_and(isnan(x), isnan(y))) : found;
}

// Of the arguments x, other, rtol, atol, equal_nan; in f64 or c128, so that integers and bools take part.
kiln::Tensor close_of(std::span<Value> arguments) {
  const kiln::GradMode no_grad(false);
  const kiln::Tensor given = to_operand(arguments[0]), other = to_operand(arguments[1]);
  const bool any_complex = kiln::is_complex(given.dtype()) || kiln::is_complex(other.dtype());
  const kiln::DType wide = any_complex ? kiln::DType::C128 : kiln::DType::F64;
  const kiln::Tensor x = kiln::ops::to(given, wide), y = kiln::ops::to(other, wide);
  const double rtol = float_argument(arguments[2], "rtol");
  const double atol = float_argument(arguments[3], "atol");
  const bool equal_nan = bool_argument(arguments[4], "equal_nan");
  return close(x, y, rtol, atol, equal_nan);
}

Value isclose(Interpreter&, std::span<Value> arguments) { return Value(close_of(arguments)); }

Value allclose(Interpreter&, std::span<Value> arguments) {
  return kiln::ops::all(close_of(arguments)).item_bool();
}

Value equal(Interpreter&, std::span<Value> arguments) {
  const kiln::GradMode no_grad(false);
  const kiln::Tensor x = to_operand(arguments[0]);
  const kiln::Tensor y = to_operand(arguments[1]);
  if (!(x.sizes() == y.sizes())) return false;
  return kiln::ops::all(kiln::ops::eq(x, y)).item_bool();
}

constexpr NativeDef kCompareNatives[] = {
    {"allclose(x, other, rtol=1e-05, atol=1e-08, equal_nan=false)",
     "Whether all elements are within atol + rtol * |other| of each other.\n"
     ">>> allclose(tensor([1.0]), tensor([1.0 + 1e-7]))\ntrue",
     allclose},
    {"isclose(x, other, rtol=1e-05, atol=1e-08, equal_nan=false)",
     "Which elements are within atol + rtol * |other| of each other.\n"
     ">>> isclose(tensor([1.0, 2.0]), tensor([1.0, 2.5])).tolist()\n[true, false]",
     isclose},
    {"equal(x, other)",
     "Whether two tensors have the same shape and equal elements.\n"
     ">>> equal(tensor([1, 2]), tensor([1, 2]))\ntrue",
     equal},
};

}  // namespace

std::span<const NativeDef> compare_natives() { return kCompareNatives; }

}  // namespace kiln::interp
