// `eval_shape`: the types of what a call gives, without computing it.
#include "interpreter/host/abstract_call.h"
#include "interpreter/host/pytree.h"
#include "interpreter/host/record.h"
#include "interpreter/host/transforms.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"

namespace kiln::interp {
namespace {

using namespace host;

Value type_record(const kiln::Tensor& x) {
  static const Value* const type =
      new Value(record_type("TensorType", "The type of a tensor: `shape`, `dtype`, `device`.",
                            {"shape", "dtype", "device", "text"}));
  std::vector<Value> shape;
  for (const kiln::Dim& each : x.sizes()) shape.emplace_back(each.fixed());
  return make_record(*type, {make<Tuple>(std::move(shape)), Value(x.dtype()), Value(x.device()),
                             Value(to_string(x.type()))});
}

Value eval_shape(Interpreter& interpreter, std::span<Value> a) {
  check_function(a[0], "eval_shape");
  std::vector<std::pair<std::string_view, Value>> named;
  for (const Dict::Entry& entry : a[2].as<Dict>().entries()) {
    if (entry.live) named.emplace_back(text_of(entry.key), entry.value);
  }
  return map_tensors(call_without_elements(interpreter, a[0], a[1].as<Tuple>().items, named), type_record);
}

constexpr NativeDef kShapesNatives[] = {
    {"eval_shape(f, *args, **named)",
     "The result of f(*args, **named) with the type of each tensor (`shape dtype device`) in its place. No "
     "op "
     "computes anything, so that sizes may be as large as you like; a call that asks for an element is an "
     "error. "
     "`:type f(x)` prints it.\n"
     ">>> eval_shape((x, w) => (x @ w).relu(), zeros(32, 784), zeros(784, 10))\nf32[32, 10]",
     eval_shape},
};

}  // namespace

std::span<const NativeDef> shape_natives() { return kShapesNatives; }

}  // namespace kiln::interp
