// Owns what is asked of dtypes together.
#include "interpreter/values/complex_number.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/ops/pointwise.h"

namespace kiln::interp {
namespace {

kiln::DType dtype_of(const Value& value, std::string_view parameter) {
  if (const auto dtype = host::dtype_argument(value, parameter)) return *dtype;
  host::wrong_type(parameter, "a dtype such as `f32`", value);
}

Value promote_types(Interpreter&, std::span<Value> arguments) {
  return Value(kiln::promote(dtype_of(arguments[0], "type1"), dtype_of(arguments[1], "type2")));
}

Value result_type(Interpreter&, std::span<Value> arguments) {
  std::vector<kiln::OperandType> types;
  for (const Value& each : *host::items_of(arguments[0])) {
    const kiln::Tensor x = to_operand(each);
    types.push_back({x.dtype(), x.is_number(), x.rank() > 0});
  }
  if (types.empty()) raise("TypeError", "result_type: give at least one tensor or number");
  return Value(kiln::promote_operands(types, false));
}

Value is_complex_value(Interpreter&, std::span<Value> arguments) {
  const Value& x = arguments[0];
  if (x.is(Tag::Tensor)) return kiln::is_complex(x.tensor().dtype());
  if (!is_any_number(x)) host::wrong_type("x", "a tensor or a number", x);
  return x.is(Tag::Complex);
}

constexpr NativeDef kDtypesNatives[] = {
    {"is_complex(x)",
     "Whether the elements of a tensor are complex numbers, or a number is one.\n"
     ">>> is_complex(2j), is_complex(ones(2))\n(true, false)",
     is_complex_value},
    {"promote_types(type1, type2)",
     "The least dtype that both convert to without loss of their kind.\n"
     ">>> promote_types(u8, i8), promote_types(i64, f16)\n(i16, f16)",
     promote_types},
    {"result_type(*operands)",
     "The dtype of arithmetic with these tensors and numbers: a number, or a 0-d tensor beside others, "
     "counts "
     "only where it is of a higher kind.\n"
     ">>> result_type(tensor([1], dtype=u8), 300), result_type(tensor([1]), 0.5)\n(u8, f32)",
     result_type},
};

}  // namespace

std::span<const NativeDef> dtype_natives() { return kDtypesNatives; }

}  // namespace kiln::interp
