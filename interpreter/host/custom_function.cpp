// `autograd Name { forward backward jvp vmap }`: a call makes a context, runs forward, and leaves the other
// bodies to the levels.
#include "interpreter/vm/custom_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "interpreter/capture/application.h"
#include "interpreter/host/program_call.h"
#include "interpreter/values/code.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/values/unknown.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/call.h"
#include "interpreter/vm/context.h"
#include "interpreter/vm/impl.h"
#include "tensor/functions.h"
#include "tensor/levels/custom.h"

namespace kiln::interp {
namespace {

using namespace host;
using kiln::Inputs;
using kiln::Tensor;
using kiln::Tensors;
using levels::apply_custom;
using levels::CustomRules;
using levels::Flags;
using levels::SavedTensors;

// Values of which some are tensors: those are taken out, and others put in their places.
struct Template {
  std::vector<Value> values;
  std::vector<std::size_t> tensors;  // places of the tensors

  explicit Template(std::vector<Value> all = {}) : values(std::move(all)) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!values[i].is(Tag::Tensor)) continue;
      tensors.push_back(i);
      values[i] = Value();
    }
  }
  std::vector<Value> with(Inputs given) const {
    std::vector<Value> all = values;
    for (std::size_t i = 0; i < tensors.size(); ++i) all[tensors[i]] = Value(given[i]);
    return all;
  }
  Value flags(const Flags& given) const {
    std::vector<Value> all(values.size(), Value(false));
    for (std::size_t i = 0; i < tensors.size(); ++i) all[tensors[i]] = Value(bool(given[i]));
    return tuple_value(std::move(all));
  }
};

std::vector<Value> as_list(const Value& value) {
  if (const auto* items = items_of(value)) return *items;
  return {value};
}

std::vector<Tensor> tensors_of(const std::vector<Value>& values) {
  std::vector<Tensor> tensors;
  for (const Value& each : values) {
    if (each.is(Tag::Tensor)) tensors.push_back(each.as_tensor());
  }
  return tensors;
}

std::optional<std::size_t> position(Inputs tensors, const Tensor& x) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].is_same(x)) return i;
  }
  return std::nullopt;
}

// Another tensor over the same memory, at every level: what the context keeps then has no history, and no
// cycle leads through it.
Tensor fresh(const Tensor& x) {
  const Wrapper* wrapper = levels::wrapper_of(x);
  if (wrapper == nullptr) return Tensor::alias(x, x.layout());
  return levels::wrap(wrapper->level, wrapper->kind, fresh(wrapper->value), wrapper->tangent, false,
                      wrapper->memory);
}

// The arguments of forward as it finds them: what it writes without a word could be followed by no
// derivative, and by no graph.
class Unwritten {
 public:
  explicit Unwritten(Inputs inputs) {
    for (const Tensor& x : inputs) before_.push_back({x.storage(), x.storage()->version(), x.layout()});
  }

  // The first input whose elements or layout changed, and that shares memory with no declared one.
  std::optional<std::size_t> find_undeclared(Inputs inputs, Inputs dirty) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Before& before = before_[i];
      const bool same = inputs[i].storage() == before.storage &&
                        before.storage->version() == before.version && inputs[i].layout() == before.layout;
      const bool declared = std::any_of(dirty.begin(), dirty.end(), [&](const Tensor& x) {
        return x.is_same(inputs[i]) || shares_storage(x, inputs[i]);
      });
      if (!same && !declared) return i;
    }
    return std::nullopt;
  }

 private:
  struct Before {
    kiln::Ref<kiln::Storage> storage;
    std::uint32_t version;
    kiln::Layout layout;
  };
  std::vector<Before> before_;
};

// What `ctx.saved` holds: an input or output, which each level has its own tensor for, or a constant.
struct Saved {
  enum class Kind : std::uint8_t { Input, Output, Constant } kind;
  std::size_t index;
  Value constant;
  void visit_references(ReferenceVisitor& visitor) const { interp::visit_references(constant, visitor); }
};

class Application final : public CustomRules {
 public:
  Application(Interpreter& interpreter, Value type, std::vector<Value> arguments)
      : interpreter_(interpreter), type_(std::move(type)), arguments_(std::move(arguments)) {}

  std::string name() const override { return type_.as<StructType>().name; }
  bool has_jvp() const override { return method("jvp") != nullptr; }
  bool wants_zeros() const override { return wants_zeros_; }
  Flags constants() const override { return constants_; }
  bool reads_input(std::size_t i) const override { return reads(Saved::Kind::Input, i); }
  bool reads_output(std::size_t i) const override { return reads(Saved::Kind::Output, i); }
  void visit_references(ReferenceVisitor& visitor) const override {
    interp::visit_references(type_, visitor);
    interp::visit_references(arguments_.values, visitor);
    interp::visit_references(outputs_.values, visitor);
    interp::visit_references(context_, visitor);
    interp::visit_references(saved_, visitor);
    interp::visit_references(dirty_, visitor);
  }

  // Captured code has a node for it, which is told from what forward leaves behind.
  void note() { recorded_.emplace(); }
  bool is_noted() const override { return recorded_.has_value(); }
  bool is_opaque() const override { return !backward_is_ops_; }
  void set_backward_is_ops(bool known) { backward_is_ops_ = known; }
  capture::Application recorded(Inputs inputs, Inputs results) {
    capture::Application all = std::move(*recorded_);
    all.name = name();
    all.names = argument_names();
    if (const Value* backward = method("backward")) all.backward = *backward;
    all.context_holders = context_.object()->refs - 1;
    all.context = context_;
    all.arguments = arguments_.values;
    all.tensor_arguments = arguments_.tensors;
    all.inputs.assign(inputs.begin(), inputs.end());
    all.outputs = outputs_.values;
    all.tensor_outputs = outputs_.tensors;
    all.results.assign(results.begin(), results.end());
    all.constants = constants_;
    all.materializes_grads = wants_zeros_;
    all.program_call = program_call(interpreter_, type_, all);
    all.apply = [&interpreter = interpreter_, type = type_, arguments = arguments_](Inputs given) {
      return apply_custom(std::make_shared<Application>(interpreter, type, arguments.with(given)), given);
    };
    all.begin = [&interpreter = interpreter_, type = type_, arguments = arguments_](Inputs given,
                                                                                    const Flags& needs) {
      return begun(std::make_shared<Application>(interpreter, type, arguments.with(given)), given, needs);
    };
    return all;
  }

  // Runs forward at the bottom, and leaves backward for later.
  static jit::InterpretedApplication begun(const std::shared_ptr<Application>& application, Inputs inputs,
                                           const Flags& needs) {
    const GradMode off(false);
    Tensors results = application->forward(inputs, needs);
    std::vector<Tensor> read;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      read.push_back(application->reads_input(i) ? inputs[i] : Tensor());
    auto backward = [application, read](Inputs outputs, Inputs grads, const Flags& wanted) {
      const GradMode unrecorded(false);
      return application->backward({read, {outputs.begin(), outputs.end()}}, grads, wanted);
    };
    return {std::move(results), std::move(backward)};
  }

  // The result of the call around the outputs.
  Value result(Inputs outputs) const {
    std::vector<Value> all = outputs_.with(outputs);
    return several_ ? tuple_value(std::move(all)) : all.front();
  }

  Tensors forward(Inputs inputs, const Flags& needs) override {
    for (const Tensor& x : inputs) input_types_.add(x);
    context_ = new_context(arguments_.flags(needs));
    const Unwritten before(inputs);
    const Value returned = call("forward", {context_}, arguments_.with(inputs));
    std::vector<Tensor> outputs = take_outputs(returned);
    remember(inputs, outputs);
    if (const auto written = before.find_undeclared(inputs, dirty_)) refuse_write(*written);
    Tensors results;
    for (const Tensor& output : outputs) {
      const bool written = position(inputs, output) && position(dirty_, output);
      results.push_back(written ? output : fresh(output));
    }
    dirty_.clear();
    return results;
  }

  Tensors backward(const SavedTensors& kept, Inputs grads, const Flags& needs) override {
    const ContextScope scope(context_, saved_values(kept), arguments_.flags(needs));
    std::vector<Value> given(outputs_.values.size());  // none for outputs that are no tensors
    for (std::size_t k = 0; k < grads.size(); ++k) given[outputs_.tensors[k]] = Value(grads[k]);
    const Value returned = call("backward", {context_}, std::move(given));
    return gradients(as_list(returned));
  }

  Tensors jvp(const SavedTensors& kept, Inputs tangents) override {
    const ContextScope scope(context_, saved_values(kept), arguments_.flags(Flags(tangents.size(), true)));
    std::vector<Tensor> given;
    for (std::size_t i = 0; i < tangents.size(); ++i) {
      const bool zero = !tangents[i] && wants_zeros_ && kiln::is_differentiable(kept.inputs[i].dtype());
      given.push_back(zero ? kiln::ops::zeros_like(kept.inputs[i]) : tangents[i]);
    }
    const std::vector<Value> found = as_list(call("jvp", {context_}, arguments_.with(given)));
    check_count("jvp", "tangent", found.size(), outputs_.values.size(), "outputs of forward");
    Tensors result;
    for (std::size_t k = 0; k < outputs_.tensors.size(); ++k) {
      const Value& each = found[outputs_.tensors[k]];
      result.push_back(each.is_none() ? Tensor() : fitted(each, kept.outputs[k].type(), "jvp", "tangent", k));
    }
    return result;
  }

  bool batch(const levels::BatchLevel& level, Inputs values, const Flags& is_batched, Tensors& outputs,
             Flags& batched) override {
    if (method("vmap") == nullptr) return false;
    std::vector<Value> in_dims(arguments_.values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (is_batched[i]) in_dims[arguments_.tensors[i]] = Value(0);
    }
    const Value info = new_vmap_info(level.size(), level.randomness());
    const Value returned = call("vmap", {info, tuple_value(in_dims)}, arguments_.with(values));
    const auto* pair = items_of(returned);
    if (!pair || pair->size() != 2)
      raise("ValueError", fmt::format("{}.vmap must return (output, out_dims), it returned {}", name(),
                                      describe(returned)));
    const std::vector<Tensor> found = take_outputs((*pair)[0]);
    const std::vector<Value> dims = as_list((*pair)[1]);
    for (std::size_t k = 0; k < found.size(); ++k) {
      const Value& dim = dims.size() == 1 ? dims[0] : dims.at(k);
      batched.push_back(!dim.is_none());
      outputs.push_back(dim.is_none() ? found[k] : batch_first(found[k], int_argument(dim, "out_dims")));
    }
    return true;
  }

 private:
  const Value* method(std::string_view wanted) const { return type_.as<StructType>().method(wanted); }

  Value call(std::string_view body, std::vector<Value> first, std::vector<Value> rest) {
    const Value* found = method(body);
    if (found == nullptr)
      raise("AutogradError", fmt::format("{} has no `{}`", name(), body),
            fmt::format("define it: fn {}(ctx, …) {{ … }}", body));
    first.insert(first.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
    return interpreter_.call(*found, first);
  }

  // Those of forward's parameters; the last stands for all that follow.
  std::vector<std::string> argument_names() const {
    const auto& parameters = method("forward")->as<Function>().code->parameters;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < arguments_.values.size(); ++i)
      names.emplace_back(parameters[std::min(i + 1, parameters.size() - 1)].name);
    return names;
  }

  [[noreturn]] void refuse_write(std::size_t tensor) const {
    const std::string argument = argument_names()[arguments_.tensors[tensor]];
    raise("AutogradError",
          fmt::format("{}.forward writes into its argument `{}` without mark_dirty", name(), argument),
          fmt::format("say so with ctx.mark_dirty({0}) and return it, or write to a copy: {0}.clone()",
                      argument));
  }

  static Tensor batch_first(const Tensor& x, std::int64_t dim) {
    const int from = kiln::wrap_dim(dim, x.rank(), "out_dims");
    kiln::Dims order{from};
    for (int d = 0; d < x.rank(); ++d) {
      if (d != from) order.push_back(d);
    }
    return from == 0 ? x : kiln::ops::permute(x, order);
  }

  std::vector<Tensor> take_outputs(const Value& returned) {
    several_ = items_of(returned) != nullptr;
    std::vector<Value> all = as_list(returned);
    for (const Value& each : all) look_at(each);
    std::vector<Tensor> outputs = tensors_of(all);
    if (outputs.empty())
      raise("TypeError", fmt::format("{} must return a tensor or a tuple of tensors, it returned {}", name(),
                                     describe(returned)));
    outputs_ = Template(std::move(all));
    constants_.assign(outputs.size(), false);
    return outputs;
  }

  // Reads what forward told its context.
  void remember(Inputs inputs, Inputs outputs) {
    const ContextMarks marks = take_marks(context_);
    if (recorded_) recorded_->saved = marks.saved, recorded_->made.assign(outputs.begin(), outputs.end());
    wants_zeros_ = marks.materialize_grads;
    dirty_ = tensors_of(marks.dirty);
    for (const Tensor& x : dirty_) {
      if (!position(inputs, x) || !position(outputs, x))
        raise("AutogradError",
              fmt::format("{}: mark_dirty is for arguments of forward that it returns", name()));
    }
    for (const Tensor& x : tensors_of(marks.non_differentiable)) {
      if (const auto k = position(outputs, x)) constants_[*k] = true;
    }
    for (const Value& each : marks.saved) {
      const Tensor x = each.is(Tag::Tensor) ? each.as_tensor() : Tensor();
      const auto input = x ? position(inputs, x) : std::nullopt;
      const auto output = x ? position(outputs, x) : std::nullopt;
      if (output) {
        saved_.push_back({Saved::Kind::Output, *output, {}});
      } else if (input) {
        saved_.push_back({Saved::Kind::Input, *input, {}});
      } else {
        saved_.push_back({Saved::Kind::Constant, 0, each});
      }
    }
  }

  bool reads(Saved::Kind kind, std::size_t index) const {
    return std::any_of(saved_.begin(), saved_.end(),
                       [&](const Saved& each) { return each.kind == kind && each.index == index; });
  }

  Value saved_values(const SavedTensors& kept) const {
    std::vector<Value> values;
    for (const Saved& each : saved_) {
      values.push_back(each.kind == Saved::Kind::Input    ? Value(kept.inputs[each.index])
                       : each.kind == Saved::Kind::Output ? Value(kept.outputs[each.index])
                                                          : each.constant);
    }
    return tuple_value(std::move(values));
  }

  // `of`: what there must be one for each of, as a plural.
  void check_count(std::string_view body, std::string_view what, std::size_t got, std::size_t wanted,
                   std::string_view of) const {
    if (got == wanted) return;
    raise("AutogradError",
          fmt::format("{}.{} returned {} {}{} for {} {}", name(), body, got, what, got == 1 ? "" : "s",
                      wanted, of),
          fmt::format("return one for each, none where there is no {}", what));
  }

  // A gradient or tangent as a tensor of the sizes it must have.
  Tensor fitted(const Value& value, const kiln::TensorType& type, std::string_view body,
                std::string_view what, std::size_t number) const {
    if (!value.is(Tag::Tensor) && !is_any_number(value))
      raise("TypeError", fmt::format("{}.{}: {} {} must be a tensor or none, it is {}", name(), body, what,
                                     number, describe(value)));
    return levels::fitted(to_operand(value), type, name(), body, what, number);
  }

  Tensors gradients(const std::vector<Value>& found) const {
    check_count("backward", "gradient", found.size(), arguments_.values.size(),
                "arguments of forward after ctx");
    Tensors grads;
    std::size_t next = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool is_tensor = next < arguments_.tensors.size() && arguments_.tensors[next] == i;
      if (!is_tensor) {
        if (!found[i].is_none())
          raise("AutogradError",
                fmt::format("{}.backward: argument {} is {}, which has no gradient", name(), i,
                            describe(arguments_.values[i])),
                "return none in its place");
        continue;
      }
      const kiln::TensorType& type = input_types_[next++];
      grads.push_back(found[i].is_none() ? Tensor() : fitted(found[i], type, "backward", "gradient", i));
    }
    return grads;
  }

  Interpreter& interpreter_;
  Value type_;
  Template arguments_, outputs_;
  bool several_ = false;
  bool wants_zeros_ = true;
  Value context_;
  levels::ArgumentTypes input_types_;
  std::vector<Saved> saved_;
  std::vector<Tensor> dirty_;
  Flags constants_;
  std::optional<capture::Application> recorded_;
  bool backward_is_ops_ = false;
  levels::LiveApplication alive_;
};

// The arguments of forward after ctx, defaults filled in.
std::vector<Value> bind_arguments(const Value& type, Arguments& arguments) {
  const Value* forward = type.as<StructType>().method("forward");
  if (forward == nullptr || !forward->is(Tag::Function))
    raise("AutogradError", fmt::format("{} has no `forward`", type.as<StructType>().name),
          "define it: fn forward(ctx, …) { … }");
  const auto& function = forward->as<Function>();
  std::vector<Value> bound(function.code->parameters.size());
  arguments.positional.insert(arguments.positional.begin(), Value());  // ctx
  bind_function(function, arguments, bound.data());
  std::vector<Value> all;
  for (std::size_t i = 1; i < bound.size(); ++i) {
    const auto kind = function.code->parameters[i].kind;
    if (kind == lang::Parameter::Kind::DoubleStar)
      raise("AutogradError", fmt::format("{}.forward takes arguments by position only, so that backward can "
                                         "return a gradient for each",
                                         type.as<StructType>().name));
    if (kind != lang::Parameter::Kind::Star) {
      all.push_back(bound[i]);
      continue;
    }
    const auto& rest = bound[i].as<Tuple>().items;
    all.insert(all.end(), rest.begin(), rest.end());
  }
  return all;
}

}  // namespace

Value call_autograd(Interpreter& interpreter, const Value& type, Arguments& arguments) {
  std::vector<Value> values = bind_arguments(type, arguments);
  const std::vector<Tensor> inputs = tensors_of(values);
  const auto application = std::make_shared<Application>(interpreter, type, std::move(values));
  capture::BodyScope body(interpreter.impl().vm);
  if (body.is_open()) application->note();
  const Tensors outputs = apply_custom(application, inputs);
  if (body.is_open()) {
    application->set_backward_is_ops(body.close(application->recorded(inputs, outputs)));
  }
  return application->result(outputs);
}

}  // namespace kiln::interp
