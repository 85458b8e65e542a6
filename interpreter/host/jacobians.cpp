// Forward mode, and the derivatives of all outputs by all inputs: jvp, jacrev, jacfwd, hessian.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "interpreter/host/pytree.h"
#include "interpreter/host/transforms.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/errors.h"
#include "interpreter/vm/tables.h"
#include "tensor/functions.h"
#include "tensor/levels/batch_level.h"
#include "tensor/levels/dual_level.h"

namespace kiln::interp {
namespace {

using namespace host;
using kiln::Dim;
using kiln::Dims;
using kiln::Tensor;
using levels::BatchLevel;
using levels::DualLevel;
using levels::Randomness;
using Args = std::span<Value>;

// `tree` with its tensors at the level, one tangent for each (absent: zero).
Value duals(const DualLevel& level, const Value& tree, const std::vector<Tensor>& tangents,
            std::size_t& next) {
  return map_tensors(tree, [&](const Tensor& x) { return Value(level.dual(x, tangents[next++])); });
}

// What an output's tangent is, one level below: zeros where it does not depend on the inputs.
Tensor tangent_below(const DualLevel& level, const Tensor& y) {
  if (const Tensor tangent = level.tangent_of(y)) return tangent;
  const Tensor value = levels::value_below(level, y);
  const levels::Below below(level);
  return kiln::ops::zeros_like(value);
}

// ---- jvp ----

Value as_tuple(const Value& arguments) {
  return items_of(arguments) ? tuple_value(*items_of(arguments)) : tuple_value({arguments});
}

void check_dependent(const DualLevel& level, const Value& out) {
  each_leaf(out, [&](const Value& leaf, const std::string& path) {
    if (leaf.is(Tag::Tensor) && level.tangent_of(leaf.as_tensor())) return;
    if (leaf.is(Tag::Tensor) && !kiln::is_differentiable(leaf.as_tensor().dtype())) return;
    raise("AutogradError",
          fmt::format("jvp: the output{}{} does not depend on the inputs", path.empty() ? "" : " ", path),
          "strict=false gives zeros for it");
  });
}

Value jvp(Interpreter& interpreter, Args a) {
  check_function(a[0], "jvp");
  const bool strict = bool_argument(a[3], "strict");
  const bool has_aux = bool_argument(a[4], "has_aux");
  std::vector<Value> primals;
  const Value given = as_tuple(a[1]);
  for (const Value& each : given.as<Tuple>().items) {
    primals.push_back(as_differentiable(each, fmt::format("argument {}", primals.size()), "jvp"));
  }
  if (primals.empty()) raise("ValueError", "jvp: there is no argument to differentiate by");
  const std::vector<Tensor> tangents = vectors_for(tuple_value(primals), as_tuple(a[2]), "jvp: the tangents");
  const DualLevel level;
  std::size_t next = 0;
  for (Value& primal : primals) primal = duals(level, primal, tangents, next);
  const Value result = interpreter.call(a[0], primals);
  const auto [out, aux] = has_aux ? out_and_aux(result, "jvp") : std::pair{result, Value()};
  if (strict) check_dependent(level, out);
  const Value tangent = map_tensors(out, [&](const Tensor& y) { return Value(tangent_below(level, y)); });
  if (has_aux) return tuple_value({below(level, out), tangent, below(level, aux)});
  return tuple_value({below(level, out), tangent});
}

// ---- jacrev ----

Dim count(const std::vector<Tensor>& tensors) {
  Dim total = 0;
  for (const Tensor& x : tensors) total += x.numel();
  return total;
}

// For each tensor the unit vectors of all of them together, from number `first` on, `size` of them: where the
// vector is of another tensor, zeros.
std::vector<Tensor> unit_vectors(const std::vector<Tensor>& tensors, Dim first, Dim size) {
  std::vector<Tensor> units;
  Dim offset = 0;
  for (const Tensor& x : tensors) {
    const auto counting = [&x](Dim begin, Dim end) {
      return kiln::ops::arange(begin, end, 1, kiln::DType::I64, x.device());
    };
    const Tensor rows = kiln::ops::reshape(counting(first, first + size), Dims{size, 1});
    const Tensor columns = counting(offset, offset + x.numel());
    Dims sizes{size};
    sizes.append(x.sizes().begin(), x.sizes().end());
    units.push_back(kiln::ops::reshape(kiln::ops::to(kiln::ops::eq(rows, columns), x.dtype()), sizes));
    offset += x.numel();
  }
  return units;
}

// Rows [start, start + x.numel()) of a batch of derivatives, in the shape of x before that of an example.
Tensor rows_of(const Tensor& batch, Dim start, const Tensor& x) {
  Dims sizes = x.sizes();
  sizes.append(batch.sizes().begin() + 1, batch.sizes().end());
  return kiln::ops::reshape(kiln::ops::slice(batch, 0, start, start + x.numel()), sizes);
}

// All cotangents at once, or `chunk` at a time.
std::vector<Tensor> pull_units(const Reverse& run, Transform transform, const std::vector<Tensor>& outputs,
                               Dim chunk) {
  const Dim total = count(outputs);
  std::vector<std::vector<Tensor>> columns;
  Dim first = 0;
  do {  // also of no outputs: gradients by them have no rows
    const Dim size = std::min<Dim>(chunk, total - first);
    const std::vector<Tensor> units = unit_vectors(outputs, first, size);
    BatchLevel level(size, Randomness::Same, transform);
    std::vector<Tensor> cotangents;
    for (const Tensor& unit : units) cotangents.push_back(level.example_of(unit));
    std::vector<Tensor> grads;
    for (const Value& tree : run.pull(cotangents, true)) {
      for (const Tensor& grad : tensors_in(tree)) grads.push_back(level.batch_of(grad));
    }
    columns.resize(grads.size());
    for (std::size_t i = 0; i < grads.size(); ++i) columns[i].push_back(grads[i]);
    first += chunk;
  } while (first < total);
  std::vector<Tensor> batches;
  for (const auto& column : columns)
    batches.push_back(column.size() == 1 ? column[0] : kiln::ops::cat(column, 0));
  return batches;
}

// A derivative by a complex number is no complex number: it has the derivatives by both parts.
void check_real_inputs(const std::vector<Tensor>& inputs, const std::string& transform) {
  for (const Tensor& x : inputs) {
    if (!kiln::is_complex(x.dtype())) continue;
    raise("TypeError",
          fmt::format("{}: an argument is {}, and derivatives are taken by real numbers", transform,
                      kiln::to_string(x.type())),
          fmt::format("take a function of the pairs of parts: `{}(p => view_as_real(f(view_as_complex(p))))"
                      "(view_as_real(z))`, without the outer `view_as_real` where the result of f is real",
                      transform));
  }
}

void check_float_outputs(const std::vector<Tensor>& outputs, const Value& out, const std::string& transform) {
  if (outputs.empty())
    raise("TypeError",
          fmt::format("{}: the function must return tensors, it returned {}", transform, describe(out)),
          help_with_none(out));
  for (const Tensor& y : outputs) {
    if (kiln::is_float(y.dtype())) continue;
    raise("TypeError",
          fmt::format("{}: the function returned a {}, and only floats have derivatives", transform,
                      kiln::to_string(y.type())),
          kiln::is_complex(y.dtype()) ? "return its parts: `view_as_real(y)`" : "");
  }
}

// For each tensor of the output its derivatives by the arguments, in their structure.
Value reverse_jacobian(Interpreter& interpreter, Transform transform, const Value& f, const Argnums& argnums,
                       std::optional<Dim> chunk, const Call& call) {
  const Reverse run(interpreter, transform, f, call, argnums.among(call.positional.size()), false);
  const std::vector<Tensor> outputs = run.out_tensors();
  for (const Value& each : run.arguments())
    check_real_inputs(tensors_in(each), std::string(name_of(transform)));
  check_float_outputs(outputs, run.out(), std::string(name_of(transform)));
  const std::vector<Tensor> batches =
      pull_units(run, transform, outputs, chunk.value_or(std::max<Dim>(1, count(outputs))));
  Dim start = 0;
  return map_tensors(run.out(), [&](const Tensor& y) {
    std::vector<Value> by_arg;
    std::size_t next = 0;
    for (const Value& argument : run.arguments()) {
      by_arg.push_back(map_tensors(argument, [&](const Tensor& x) {
        if (batches.empty()) return Value(kiln::ops::zeros_like(x));
        return Value(rows_of(batches[next++], start, y));
      }));
    }
    start += y.numel();
    return argnums.by_argument(std::move(by_arg));
  });
}

std::optional<Dim> chunk_argument(const Value& value, const std::string& transform) {
  if (value.is_none()) return std::nullopt;
  const std::int64_t size = int_argument(value, "chunk_size");
  if (size < 1)
    raise("ValueError", fmt::format("{}: chunk_size must be at least 1, it is {}", transform, size));
  return size;
}

Value reverse_jacobian_of(Transform transform, const Value& f, const Argnums& argnums,
                          std::optional<Dim> chunk) {
  return transformed(std::string(name_of(transform)), f,
                     holding(
                         [](Transform held, const Value& function, const Argnums& numbers,
                            std::optional<Dim> size, Interpreter& interpreter, const Call& call) {
                           return reverse_jacobian(interpreter, held, function, numbers, size, call);
                         },
                         transform, f, argnums, chunk));
}

Value jacrev(Interpreter&, Args a) {
  const Argnums argnums(a[1], Transform::Jacrev);
  return reverse_jacobian_of(Transform::Jacrev, a[0], argnums, chunk_argument(a[2], "jacrev"));
}

// ---- jacfwd, hessian ----

// The batch of derivatives along the inputs, moved behind the dimensions of y and shaped as x.
Tensor columns_of(const Tensor& batch, Dim start, const Tensor& x) {
  const Tensor columns = kiln::ops::slice(batch, 0, start, start + x.numel());
  Dims order(static_cast<std::size_t>(batch.rank()));
  std::iota(order.begin(), order.end(), Dim{1});
  order.back() = 0;
  Dims sizes(batch.sizes().begin() + 1, batch.sizes().end());
  sizes.append(x.sizes().begin(), x.sizes().end());
  return kiln::ops::reshape(kiln::ops::permute(columns, order), sizes);
}

Value forward_jacobian(Interpreter& interpreter, Transform transform, const Value& f, const Argnums& argnums,
                       const Call& call) {
  const std::string name(name_of(transform));
  const std::vector<std::size_t> numbers = argnums.among(call.positional.size());
  std::vector<Value> arguments;
  std::vector<Tensor> inputs;
  for (const std::size_t n : numbers) {
    arguments.push_back(as_differentiable(call.positional[n], fmt::format("argument {}", n), name));
    for (const Tensor& x : tensors_in(arguments.back())) inputs.push_back(x);
  }
  check_real_inputs(inputs, name);
  const Dim total = count(inputs);
  const std::vector<Tensor> units = unit_vectors(inputs, 0, total);
  // All directions at once: the primals are the same for all, and computed once.
  Value out;
  std::vector<Tensor> outputs, batches;
  {
    BatchLevel batch(total, Randomness::Same, transform);
    std::vector<Tensor> tangents;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      tangents.push_back(kiln::is_differentiable(inputs[i].dtype()) ? batch.example_of(units[i]) : Tensor());
    }
    const DualLevel level(transform);
    Call shifted = call;
    std::size_t next = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      shifted.positional[numbers[i]] = duals(level, arguments[i], tangents, next);
    out = call_with(interpreter, f, shifted);
    outputs = tensors_in(out);
    check_float_outputs(outputs, out, name);
    for (const Tensor& y : outputs) {
      const Tensor tangent = tangent_below(level, y);
      const levels::Below below(level);
      batches.push_back(batch.batch_of(tangent));
    }
  }
  std::size_t next = 0;
  return map_tensors(out, [&](const Tensor&) {
    const Tensor& rows = batches[next++];
    Dim start = 0;
    std::vector<Value> by_arg;
    for (const Value& argument : arguments) {
      by_arg.push_back(map_tensors(argument, [&](const Tensor& x) {
        start += x.numel();
        return Value(columns_of(rows, start - x.numel(), x));
      }));
    }
    return argnums.by_argument(std::move(by_arg));
  });
}

Value forward_jacobian_of(Transform transform, const Value& f, const Argnums& argnums) {
  return transformed(
      std::string(name_of(transform)), f,
      holding([](Transform held, const Value& function, const Argnums& numbers, Interpreter& interpreter,
                 const Call& call) { return forward_jacobian(interpreter, held, function, numbers, call); },
              transform, f, argnums));
}

Value jacfwd(Interpreter&, Args a) {
  return forward_jacobian_of(Transform::Jacfwd, a[0], Argnums(a[1], Transform::Jacfwd));
}

Value hessian(Interpreter&, Args a) {
  const Argnums argnums(a[1], Transform::Hessian);
  const Value inner = reverse_jacobian_of(Transform::Hessian, a[0], argnums, std::nullopt);
  return forward_jacobian_of(Transform::Hessian, inner, argnums);
}

constexpr NativeDef kJacobiansNatives[] = {
    {"jvp(f, primals, tangents, strict=false, has_aux=false)",
     "f at `primals`, a tuple of arguments, and its derivative there along `tangents`: (out, tangent). With "
     "`strict` an output that does not depend on the inputs is an error.\n"
     ">>> jvp(sin, (tensor([0.0]),), (tensor([2.0]),))[1].tolist()\n[2.0]",
     jvp},
    {"jacrev(f, argnums=0, chunk_size=none)",
     "A function that gives all derivatives of f's outputs by an argument, of shape out + in, in reverse "
     "mode: one walk back for all outputs, or for `chunk_size` at a time.\n"
     ">>> jacrev(x => x * x)(tensor([1.0, 2.0])).tolist()\n[[2.0, 0.0], [0.0, 4.0]]",
     jacrev},
    {"jacfwd(f, argnums=0)",
     "Like `jacrev`, in forward mode: better when there are more outputs than inputs.\n"
     ">>> jacfwd(x => x * x)(tensor([1.0, 2.0])).tolist()\n[[2.0, 0.0], [0.0, 4.0]]",
     jacfwd},
    {"hessian(f, argnums=0)",
     "A function that gives the second derivatives of f: `jacfwd` of `jacrev`.\n"
     ">>> hessian(x => (x ** 3).sum())(tensor([1.0, 2.0])).tolist()\n[[6.0, 0.0], [0.0, 12.0]]",
     hessian},
};

}  // namespace

std::span<const NativeDef> jacobian_natives() { return kJacobiansNatives; }

}  // namespace kiln::interp
