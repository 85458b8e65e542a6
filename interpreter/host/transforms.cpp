#include "interpreter/host/transforms.h"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/host/pytree.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/vm/arguments.h"
#include "tensor/functions.h"

namespace kiln::interp::host {

using kiln::Tensor;

std::string_view name_of(Transform transform) { return levels::transform_name(transform); }

Value call_with(Interpreter& interpreter, const Value& f, const Call& call) {
  return interpreter.call(f, call.positional, call.named);
}

Value transformed(const std::string& transform, const Value& f, TransformedCall body) {
  check_function(f, transform);
  using Kind = NativeParameter::Kind;
  return native_value(transform, transform + "(*args, **named)", "A function made by `" + transform + "`.",
                      {{"args", Kind::Star, false, {}}, {"named", Kind::DoubleStar, false, {}}},
                      holding(
                          [](const TransformedCall& held, Interpreter& interpreter, std::span<Value> a) {
                            Call call{a[0].as<Tuple>().items, {}};
                            for (const Dict::Entry& entry : a[1].as<Dict>().entries()) {
                              if (entry.live) call.named.push_back({text_of(entry.key), entry.value});
                            }
                            return held(interpreter, call);
                          },
                          std::move(body)));
}

void check_function(const Value& f, std::string_view transform) {
  if (!is_callable(f))
    raise("TypeError", fmt::format("{}: `f` must be a function, got {}", transform, describe(f)));
}

Argnums::Argnums(const Value& given, Transform transform)
    : transform_(transform), is_tuple_(given.is(Tag::Tuple)) {
  const std::vector<Value> alone{given};
  for (const Value& each : is_tuple_ ? given.as<Tuple>().items : alone) {
    if (each.is(Tag::Int)) {
      given_.push_back(each.as_int());
      continue;
    }
    const bool is_list = given.is(Tag::List);
    raise("TypeError",
          fmt::format("{}: argnums must be an int or a tuple of ints, got {}", name_of(transform),
                      is_tuple_ ? "a tuple with " + describe(each) : describe(given)),
          is_list ? "write a tuple: an int gives one value, a tuple of ints a tuple of values" : "");
  }
  if (given_.empty()) raise("ValueError", fmt::format("{}: argnums names no argument", name_of(transform)));
}

std::vector<std::size_t> Argnums::among(std::size_t count) const {
  const std::string_view transform = name_of(transform_);
  std::vector<std::size_t> numbers;
  for (const std::int64_t each : given_) {
    const std::int64_t total = static_cast<std::int64_t>(count);
    const std::int64_t number = each < 0 ? each + total : each;
    if (number < 0 || number >= total) {
      raise("ValueError", fmt::format("{}: argnums {} is out of range, the call has {} positional argument{}",
                                      transform, each, count, count == 1 ? "" : "s"));
    }
    if (std::find(numbers.begin(), numbers.end(), static_cast<std::size_t>(number)) != numbers.end())
      raise("ValueError", fmt::format("{}: argnums names argument {} twice", transform, number));
    numbers.push_back(static_cast<std::size_t>(number));
  }
  return numbers;
}

Value Argnums::by_argument(std::vector<Value> values) const {
  return is_tuple_ ? tuple_value(std::move(values)) : values.front();
}

std::pair<Value, Value> out_and_aux(const Value& result, const std::string& transform) {
  const bool pair = result.is(Tag::Tuple) && result.as<Tuple>().items.size() == 2;
  if (pair) return {result.as<Tuple>().items[0], result.as<Tuple>().items[1]};
  raise("ValueError", fmt::format("{}: with has_aux=true the function must return exactly (out, aux), got {}",
                                  transform, describe(result)));
}

Value as_differentiable(const Value& argument, const std::string& name, const std::string& transform) {
  if (argument.is(Tag::Float))
    return Value(levels::adopt(kiln::ops::to(to_operand(argument), kiln::default_float())));
  if (argument.is(Tag::Complex)) {
    const kiln::DType dtype = kiln::complex_of(kiln::default_float());
    return Value(levels::adopt(kiln::ops::full({}, to_operand(argument), dtype, kiln::default_device())));
  }
  for (const Tensor& x : tensors_in(argument)) {
    if (kiln::is_differentiable(x.dtype())) return argument;
  }
  raise("TypeError",
        fmt::format("{}: {} has no float tensor to differentiate by, it is {}", transform, name,
                    describe(argument)),
        argument.is(Tag::Tensor) || argument.is(Tag::Int)
            ? "only floats have derivatives: convert it with float(…)"
            : "");
}

std::vector<Tensor> vectors_for(const Value& tree, const Value& given, const std::string& what) {
  std::vector<Tensor> vectors;
  for (const auto& [x, value] : pair_tensors(tree, given, what)) {
    if (value.is_none()) {
      vectors.emplace_back();
      continue;
    }
    if (!value.is(Tag::Tensor) && !is_any_number(value))
      raise("TypeError", fmt::format("{}: a tensor is needed for {}, got {}", what, kiln::to_string(x.type()),
                                     describe(value)));
    const Tensor v = to_operand(value);
    if (!v.is_number() && v.dtype() != x.dtype()) {
      raise("DTypeError",
            fmt::format("{}: its dtype must be that of {}, it is {}", what, kiln::to_string(x.type()),
                        kiln::to_string(v.type())),
            fmt::format("convert it: v.to({})", kiln::name(x.dtype())));
    }
    if (v.sizes() != x.sizes()) {
      raise("ShapeError", fmt::format("{}: its shape must be that of {}, it is {}", what,
                                      kiln::to_string(x.type()), kiln::to_string(v.type())));
    }
    vectors.push_back(kiln::is_differentiable(x.dtype()) ? kiln::ops::to(v, x.dtype()) : Tensor());
  }
  return vectors;
}

Value below(const levels::Level& level, const Value& tree) {
  return map_tensors(tree, [&](const Tensor& x) { return Value(levels::value_below(level, x)); });
}

Value Reverse::make_variables(levels::GradLevel& level, const Value& argument) {
  return map_tensors(argument, [&](const Tensor& x) {
    const bool real = kiln::is_differentiable(x.dtype());
    variables_.push_back(real ? level.variable(x) : levels::Variable{x, {}});
    return Value(variables_.back().inside);
  });
}

Reverse::Reverse(Interpreter& interpreter, Transform which, const Value& f, Call call,
                 const std::vector<std::size_t>& numbers, bool has_aux)
    : level_(levels::new_level(which)) {
  const std::string transform(name_of(which));
  for (const std::size_t n : numbers) {
    arguments_.push_back(as_differentiable(call.positional[n], fmt::format("argument {}", n), transform));
  }
  levels::GradLevel level(level_);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    call.positional[numbers[i]] = make_variables(level, arguments_[i]);
  const Value result = call_with(interpreter, f, call);
  const auto [out, aux] = has_aux ? out_and_aux(result, transform) : std::pair{result, Value()};
  outputs_ = tensors_in(out);
  out_ = below(level, out);
  aux_ = below(level, aux);
}

void Reverse::visit_references(ReferenceVisitor& visitor) const {
  interp::visit_references(arguments_, visitor);
  interp::visit_references(variables_, visitor);
  interp::visit_references(outputs_, visitor);
  interp::visit_references(out_, visitor);
  interp::visit_references(aux_, visitor);
}

std::vector<Tensor> Reverse::out_tensors() const { return tensors_in(out_); }

std::vector<Tensor> Reverse::gradients(const std::vector<Tensor>& cotangents, bool keep) const {
  std::vector<levels::Variable> wanted;
  for (const levels::Variable& each : variables_) {
    if (each.edge) wanted.push_back(each);
  }
  levels::GradLevel level(level_);
  const std::vector<Tensor> found = level.gradients(outputs_, cotangents, wanted, keep);
  std::vector<Tensor> grads;
  std::size_t next = 0;
  for (const levels::Variable& each : variables_) grads.push_back(each.edge ? found[next++] : Tensor());
  return grads;
}

std::vector<Value> Reverse::pull(const std::vector<Tensor>& cotangents, bool keep) const {
  const std::vector<Tensor> grads = gradients(cotangents, keep);
  std::size_t next = 0;
  std::vector<Value> result;
  for (const Value& argument : arguments_) {
    result.push_back(map_tensors(argument, [&](const Tensor& x) {
      const Tensor& grad = grads[next++];
      return Value(grad ? grad : kiln::ops::zeros_like(x));
    }));
  }
  return result;
}

}  // namespace kiln::interp::host
