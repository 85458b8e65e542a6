// Reverse mode as functions of functions: grad, value_and_grad, vjp, linearize.
#include <fmt/format.h>

#include <memory>
#include <numeric>

#include "interpreter/host/pytree.h"
#include "interpreter/host/transforms.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/errors.h"
#include "interpreter/vm/tables.h"
#include "tensor/functions.h"

namespace kiln::interp {
namespace {

using namespace host;
using kiln::Tensor;
using Args = std::span<Value>;

// The one element that a gradient is taken of.
Tensor scalar_output(const Value& out, const std::string& transform) {
  if (!out.is(Tag::Tensor))
    raise("TypeError",
          fmt::format("{}: the function must return a tensor, it returned {}", transform, describe(out)),
          help_with_none(out));
  const Tensor x = out.as_tensor();
  if (x.numel() != 1) {
    raise("ValueError",
          fmt::format("{}: the function must return one element, it returned {}", transform, describe(out)),
          "use vjp for the product with a cotangent, jacrev for all derivatives");
  }
  if (kiln::is_complex(x.dtype()))
    raise("TypeError",
          fmt::format("{}: the function returned {}, and a gradient is that of a real number", transform,
                      describe(out)),
          "return an absolute value or a part: z.abs(), z.real(); or use vjp, which takes a cotangent");
  if (!kiln::is_float(x.dtype()))
    raise("TypeError", fmt::format("{}: the function returned {}, and only floats have derivatives",
                                   transform, describe(out)));
  return x;
}

struct Gradient {
  Value value, aux, grads;
};

Gradient differentiate(Interpreter& interpreter, Transform transform, const Value& f, const Argnums& argnums,
                       bool has_aux, const Call& call) {
  const Reverse run(interpreter, transform, f, call, argnums.among(call.positional.size()), has_aux);
  const Tensor y = scalar_output(run.out(), std::string(name_of(transform)));
  std::vector<Value> grads =
      run.pull({kiln::ops::full(y.sizes(), Tensor::number(1.0), y.dtype(), y.device())}, false);
  return {run.out(), run.aux(), argnums.by_argument(std::move(grads))};
}

Value grad(Interpreter&, Args a) {
  return transformed("grad", a[0],
                     holding(
                         [](const Value& f, const Argnums& argnums, bool has_aux, Interpreter& interpreter,
                            const Call& call) {
                           Gradient found =
                               differentiate(interpreter, Transform::Grad, f, argnums, has_aux, call);
                           return has_aux ? tuple_value({found.grads, found.aux}) : found.grads;
                         },
                         a[0], Argnums(a[1], Transform::Grad), bool_argument(a[2], "has_aux")));
}

Value value_and_grad(Interpreter&, Args a) {
  return transformed("value_and_grad", a[0],
                     holding(
                         [](const Value& f, const Argnums& argnums, bool has_aux, Interpreter& interpreter,
                            const Call& call) {
                           Gradient found =
                               differentiate(interpreter, Transform::ValueAndGrad, f, argnums, has_aux, call);
                           const Value value = has_aux ? tuple_value({found.value, found.aux}) : found.value;
                           return tuple_value({value, found.grads});
                         },
                         a[0], Argnums(a[1], Transform::ValueAndGrad), bool_argument(a[2], "has_aux")));
}

std::vector<std::size_t> all_arguments(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

Value vjp(Interpreter& interpreter, Args a) {
  check_function(a[0], "vjp");
  const auto& primals = a[1].as<Tuple>().items;
  if (primals.empty()) raise("ValueError", "vjp: there is no argument to differentiate by");
  const bool has_aux = bool_argument(a[2], "has_aux");
  const auto run = std::make_shared<Reverse>(interpreter, Transform::Vjp, a[0], Call{primals, {}},
                                             all_arguments(primals.size()), has_aux);
  const Value pullback = native_value(
      "pullback", "pullback(cotangent)", "The product of a cotangent with the derivative, by argument.",
      {{"cotangent", NativeParameter::Kind::Normal, true, {}}},
      holding(
          [](const std::shared_ptr<Reverse>& held, Interpreter&, Args b) {
            return tuple_value(held->pull(vectors_for(held->out(), b[0], "pullback: the cotangent"), true));
          },
          run));
  if (has_aux) return tuple_value({run->out(), pullback, run->aux()});
  return tuple_value({run->out(), pullback});
}

// The pullback is linear in the cotangents: its own pullback is the product with tangents.
class Linearized {
 public:
  Linearized(Interpreter& interpreter, const Value& f, const std::vector<Value>& primals)
      : run_(interpreter, Transform::Linearize, f, Call{primals, {}}, all_arguments(primals.size()), false),
        level_(levels::new_level(Transform::Linearize)) {
    levels::GradLevel level(level_);
    std::vector<Tensor> cotangents;
    for (const Tensor& y : run_.out_tensors()) {
      const bool real = kiln::is_differentiable(y.dtype());
      cotangents_.push_back(real ? level.variable(zeros(level, y)) : levels::Variable{});
      cotangents.push_back(cotangents_.back().inside);
    }
    pulled_ = run_.gradients(cotangents, false);
  }

  const Value& out() const { return run_.out(); }
  void visit_references(ReferenceVisitor& visitor) const {
    run_.visit_references(visitor);
    interp::visit_references(cotangents_, visitor);
    interp::visit_references(pulled_, visitor);
  }

  Value push(const std::vector<Value>& tangents) const {
    const Value given = tuple_value(tangents);
    const Value arguments = tuple_value(run_.arguments());
    const std::vector<Tensor> vectors = vectors_for(arguments, given, "linearize: the tangent");
    std::vector<levels::Variable> wanted;
    for (const levels::Variable& each : cotangents_) {
      if (each.edge) wanted.push_back(each);
    }
    std::vector<Tensor> pulled, directions;
    for (std::size_t i = 0; i < pulled_.size(); ++i) {
      if (!pulled_[i]) continue;
      pulled.push_back(pulled_[i]);
      directions.push_back(vectors[i]);
    }
    std::vector<Tensor> found;
    {
      levels::GradLevel level(level_);
      found = level.gradients(pulled, directions, wanted, true);
    }
    std::size_t next = 0, output = 0;
    return map_tensors(run_.out(), [&](const Tensor& y) {
      const bool real = static_cast<bool>(cotangents_[output++].edge);
      const Tensor tangent = real ? found[next++] : Tensor();
      return Value(tangent ? tangent : kiln::ops::zeros_like(y));
    });
  }

 private:
  // Of the level below.
  static Tensor zeros(const levels::GradLevel& level, const Tensor& y) {
    const levels::Below below(level);
    return kiln::ops::zeros_like(y);
  }

  Reverse run_;
  LevelId level_;
  std::vector<levels::Variable> cotangents_;  // by tensor of `out`; empty for integers
  std::vector<Tensor> pulled_;                // at the level, by tensor of the arguments
};

Value linearize(Interpreter& interpreter, Args a) {
  check_function(a[0], "linearize");
  const auto& primals = a[1].as<Tuple>().items;
  if (primals.empty()) raise("ValueError", "linearize: there is no argument to differentiate by");
  const auto linear = std::make_shared<Linearized>(interpreter, a[0], primals);
  const Value push = native_value("jvp_fn", "jvp_fn(*tangents)",
                                  "The derivative at the point of `linearize`, times tangents.",
                                  {{"tangents", NativeParameter::Kind::Star, false, {}}},
                                  holding([](const std::shared_ptr<Linearized>& held, Interpreter&,
                                             Args b) { return held->push(b[0].as<Tuple>().items); },
                                          linear));
  return tuple_value({linear->out(), push});
}

constexpr NativeDef kReverseModeNatives[] = {
    {"grad(f, argnums=0, has_aux=false)",
     "A function that gives the derivative of f, which returns one element, by the argument or arguments "
     "`argnums`, in their structure. With `has_aux`, f returns (out, aux) and the result is (grad, aux).\n"
     ">>> grad(x => x * x)(tensor(3.0)).item()\n6.0",
     grad},
    {"value_and_grad(f, argnums=0, has_aux=false)",
     "Like `grad`, but gives (value, grad); with `has_aux`, ((value, aux), grad).\n"
     ">>> value_and_grad(x => x * x)(tensor(3.0))[0].item()\n9.0",
     value_and_grad},
    {"vjp(f, *primals, has_aux=false)",
     "f at `primals` and a function from a cotangent, with the structure of the output, to a tuple of "
     "gradients: (out, pullback).\n"
     ">>> out, pullback = vjp(sin, tensor([0.0]))\n>>> pullback(tensor([2.0]))[0].tolist()\n[2.0]",
     vjp},
    {"linearize(f, *primals)",
     "f at `primals` and its derivative there as a function of tangents: (out, jvp_fn). Runs f once.\n"
     ">>> out, jvp_fn = linearize(sin, tensor([0.0]))\n>>> jvp_fn(tensor([2.0])).tolist()\n[2.0]",
     linearize},
};

}  // namespace

std::span<const NativeDef> reverse_mode_natives() { return kReverseModeNatives; }

}  // namespace kiln::interp
