#include "jit/graph/custom.h"

#include <algorithm>
#include <set>

#include "jit/graph/evaluate.h"
#include "jit/graph/loop.h"
#include "jit/graph/rewrite.h"
#include "jit/graph/verify.h"
#include "jit/graph/with_sizes.h"
#include "jit/runtime/executable.h"
#include "jit/runtime/interpreted.h"
#include "jit/runtime/prepared.h"
#include "tensor/functions.h"
#include "tensor/integers.h"
#include "tensor/levels/custom.h"

namespace kiln::jit {
namespace {

Tensors run_forward(const Op& op, Inputs inputs, const Attrs& attrs);

std::shared_ptr<const Executable> overwriting(const Graph& body) {
  return prepared(body, {.op_by_op = &recipes::kOverwriting}).run;
}

// A row of no table: the op of one function.
struct CustomOp : Op, std::enable_shared_from_this<CustomOp> {
  CustomOp(const Op& row, CustomFunction made)
      : Op(row), function(std::move(made)), symbols(function.symbols()) {
    if (!is_interpreted(function)) forward = overwriting(function.forward);
    if (function.backward) backward = overwriting(*function.backward);
  }
  CustomFunction function;
  std::vector<std::string> symbols;                     // of the bodies
  std::shared_ptr<const Executable> forward, backward;  // null where the interpreter has them
  mutable std::weak_ptr<const Op> kept_backward;        // while a graph has it
  // Backward bodies that the interpreter has, while graphs have nodes for them, and what waits for those.
  mutable std::vector<std::weak_ptr<const CustomOp>> interpreted_backwards;
  mutable OpenApplications open_applications;
};

const CustomOp* as_custom(const Op& op) {
  return op.call == run_forward ? static_cast<const CustomOp*>(&op) : nullptr;
}
const CustomOp& custom(const Op& op) { return static_cast<const CustomOp&>(op); }

// ---- Sizes of an application ----

// One for each symbol of the bodies.
std::span<const Dim> given_sizes(const CustomOp& op, const Attrs& attrs) {
  if (op.symbols.empty()) return {};
  const Dims& sizes = attrs.get<Dims>("sizes");
  if (sizes.size() == op.symbols.size()) return sizes;
  throw OpError(ErrorKind::Shape, std::string(op.name()) + " takes " + std::to_string(op.symbols.size()) +
                                      " sizes, " + std::to_string(sizes.size()) + " were given");
}
SymbolSizes sizes_of(const CustomOp& op, const Attrs& attrs) {
  const std::span<const Dim> given = given_sizes(op, attrs);
  SymbolSizes sizes;
  for (std::size_t k = 0; k < given.size(); ++k) sizes.emplace(op.symbols[k], given[k]);
  return sizes;
}
// In a call, where all of them are ints.
SymbolValues values_of(const CustomOp& op, const Attrs& attrs) {
  const std::span<const Dim> given = given_sizes(op, attrs);
  SymbolValues values;
  for (std::size_t k = 0; k < given.size(); ++k) values.emplace(op.symbols[k], given[k].fixed());
  return values;
}
SymbolValues values_for(const Graph& body, const SymbolValues& values) {
  SymbolValues own = values;
  own.erase_if([&body](const auto& each) { return !body.hints.contains(each.first); });
  return own;
}

TensorType type_with(const Type& type, const SymbolSizes& sizes) {
  TensorType result{type.dtype, type.device, type.sizes, type.is_number};
  for (Dim& each : result.sizes) each = substitute(each, sizes);
  return result;
}

// Throws OpError where a body does not hold for these sizes. Of symbols it asks what made the body's passes
// right, and so does the graph that uses the op.
void check_sizes(const Executable& body, const SymbolSizes& sizes) {
  const auto refuse = [&body](const std::string& why) {
    throw OpError(ErrorKind::Capture, body.graph().name + ": " + why);
  };
  SymbolValues values;
  for (const auto& [symbol, size] : sizes) {
    if (size.is_known()) values.emplace(symbol, size.known());
  }
  if (values.size() == sizes.size()) {
    const std::string misfit = body.misfit(values_for(body.graph(), values));
    return misfit.empty() ? void() : refuse(misfit);
  }
  for (const SizeGuard& each : body.graph().size_guards) {
    const Dim a = substitute(each.a, sizes), b = substitute(each.b, sizes);
    if (!SizeScope::current()->relate(each.relation, a, b)) refuse(to_string(each) + " does not hold");
  }
}

void check_sizes(const CustomOp& op, const SymbolSizes& sizes) {
  if (sizes.empty()) return;
  if (op.forward) check_sizes(*op.forward, sizes);
  if (op.backward) check_sizes(*op.backward, sizes);
}

// ---- The derivative by graphs ----

class GraphRules final : public levels::CustomRules {
 public:
  // `captured`: the operands that are no arguments.
  GraphRules(std::shared_ptr<const CustomOp> op, Inputs captured, SymbolValues sizes)
      : op_(std::move(op)), captured_(captured.begin(), captured.end()), sizes_(std::move(sizes)) {}

  std::string name() const override { return op_->function.program_name; }
  bool is_noted() const override { return true; }
  bool has_jvp() const override { return false; }
  bool wants_zeros() const override { return true; }
  bool reads_input(std::size_t i) const override { return reads(Operand::of(static_cast<ValueId>(i))); }
  bool reads_output(std::size_t i) const override { return reads(op_->function.forward.outputs[i]); }
  bool batch(const levels::BatchLevel&, Inputs, const levels::Flags&, Tensors&, levels::Flags&) override {
    return false;
  }
  void visit_references(ReferenceVisitor& visitor) const override {
    kiln::visit_references(captured_, visitor);
  }
  levels::Flags constants() const override {
    levels::Flags constants;
    for (std::size_t k = 0; k < op_->function.forward.outputs.size(); ++k)
      constants.push_back(!has_gradient(*op_, k));
    return constants;
  }

  Tensors forward(Inputs inputs, const levels::Flags&) override {
    std::vector<Tensor> operands(inputs.begin(), inputs.end());
    for (const Tensor& each : inputs) types_.add(each);
    operands.insert(operands.end(), captured_.begin(), captured_.end());
    Tensors results = op_->forward->run(operands, values_for(op_->function.forward, sizes_));
    // What is the argument itself would be one that was written.
    for (Tensor& each : results) {
      const bool given =
          std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& input) { return input.is_same(each); });
      if (given) each = ops::detach(each);
    }
    return results;
  }

  Tensors backward(const levels::SavedTensors& kept, Inputs grads, const levels::Flags& needs) override {
    const Graph& forward = op_->function.forward;
    Tensors given;
    for (const ValueId id : forward.saved) given.push_back(saved(kept, id));
    for (std::size_t k = 0; k < grads.size(); ++k) {
      if (has_gradient(*op_, k)) given.push_back(grads[k]);
    }
    const Tensors made = op_->backward->run(given, values_for(*op_->function.backward, sizes_));
    Tensors result;
    for (std::size_t i = 0; i < made.size(); ++i) {
      const bool none = !needs[i] || !made[i];
      result.push_back(none ? Tensor()
                            : levels::fitted(made[i], types_[i], name(), "backward", "gradient", i));
    }
    return result;
  }

  Tensors jvp(const levels::SavedTensors&, Inputs) override {
    throw InternalError("a graph has no rule of its own for tangents");
  }

 private:
  bool reads(const Operand& value) const {
    const auto& saved = op_->function.forward.saved;
    return std::find(saved.begin(), saved.end(), value.value) != saved.end();
  }
  Tensor saved(const levels::SavedTensors& kept, ValueId id) const {
    const std::size_t arguments = op_->function.argument_count();
    if (as_index(id) < arguments) return kept.inputs[as_index(id)];
    if (as_index(id) < op_->function.forward.inputs.size()) return captured_[as_index(id) - arguments];
    const auto& outputs = op_->function.forward.outputs;
    const auto found = std::find(outputs.begin(), outputs.end(), Operand::of(id));
    return kept.outputs[static_cast<std::size_t>(found - outputs.begin())];
  }

  std::shared_ptr<const CustomOp> op_;
  std::vector<Tensor> captured_;
  SymbolValues sizes_;
  levels::ArgumentTypes types_;
  levels::LiveApplication alive_;
};

// ---- The op ----

[[noreturn]] void refuse(const Op& op) {
  throw OpError(ErrorKind::Capture,
                std::string(op.name()) + " is done by the program that the graph was captured from");
}

// The arguments of the program's function, which may write them.
std::vector<Tensor> arguments_for(const CustomFunction& function, Inputs inputs) {
  std::vector<Tensor> arguments(inputs.begin(),
                                inputs.begin() + static_cast<std::ptrdiff_t>(function.argument_count()));
  for (const std::size_t i : function.written) arguments[i] = ops::clone(arguments[i]);
  return arguments;
}

// Throws OpError (Capture) where the program's function gives something of another type than it gave.
void check_results(const CustomFunction& function, Inputs results, const SymbolValues& sizes) {
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Type& stated = function.forward.values[as_index(function.forward.outputs[k].value)].type;
    const TensorType type = evaluate(stated, sizes);
    if (results[k].type() == type) continue;
    throw OpError(ErrorKind::Capture, function.program_name + " gives a " + to_string(results[k].type()) +
                                          " where it gave a " + to_string(type));
  }
}

Tensors run_program(const CustomOp& op, Inputs inputs, const SymbolValues& sizes) {
  const CustomFunction& function = op.function;
  if (!function.apply) refuse(op);
  Tensors results = function.apply(arguments_for(function, inputs));
  check_results(function, results, sizes);
  results.resize(function.forward.outputs.size());
  return results;
}

// ---- A backward that only the interpreter has ----

bool is_interpreted_backward(const CustomOp& op) {
  return op.function.backward_of && is_interpreted(op.function);
}

std::vector<bool> needs_of(const CustomOp& backward, std::size_t arguments) {
  std::vector<bool> needs(arguments, false);
  for (const std::size_t i : backward.function.gradients_of) needs[i] = true;
  return needs;
}

// The arguments whose gradients nodes of graphs ask for; empty where there is no such node.
std::vector<bool> awaited(const CustomOp& op) {
  std::vector<bool> needs;
  std::erase_if(op.interpreted_backwards, [](const auto& each) { return each.expired(); });
  for (const auto& each : op.interpreted_backwards) {
    const auto backward = each.lock();
    if (backward == nullptr) continue;
    needs.resize(op.function.argument_count(), false);
    for (const std::size_t i : backward->function.gradients_of) needs[i] = true;
  }
  return needs;
}

// An application whose backward a node of the same graph will run.
Tensors begin_application(const CustomOp& op, Inputs inputs, const SymbolValues& sizes,
                          const std::vector<bool>& needs) {
  const CustomFunction& function = op.function;
  InterpretedApplication application = function.begin(arguments_for(function, inputs), needs);
  check_results(function, application.results, sizes);
  op.open_applications.add(application);
  application.results.resize(function.forward.outputs.size());
  return std::move(application.results);
}

Tensors run_interpreted_backward(const CustomOp& op, Inputs inputs, const SymbolValues& sizes) {
  const CustomOp& forward = custom(*op.function.backward_of);
  const std::size_t results = forward.function.forward.outputs.size();
  const InterpretedApplication application =
      forward.open_applications.take(inputs[0], forward.function.program_name);
  Tensors grads(results);
  for (std::size_t k = 0, next = results; k < results; ++k) {
    if (has_gradient(forward, k)) grads[k] = inputs[next++];
  }
  const Tensors made =
      application.backward(inputs.first(results), grads, needs_of(op, forward.function.argument_count()));
  Tensors gradients;
  for (const std::size_t i : op.function.gradients_of) {
    const TensorType type = evaluate(forward.function.forward.values[i].type, sizes);
    gradients.push_back(made[i] ? ops::to(made[i], type.dtype)
                                : ops::zeros(type.sizes, type.dtype, type.device));
  }
  return gradients;
}

// As a kernel: nothing is differentiated.
Tensors run_forward(const Op& op, Inputs inputs, const Attrs& attrs) {
  const CustomOp& own = custom(op);
  const SymbolValues sizes = values_of(own, attrs);
  if (is_interpreted_backward(own)) return run_interpreted_backward(own, inputs, sizes);
  if (const std::vector<bool> needs = awaited(own); !needs.empty())
    return begin_application(own, inputs, sizes, needs);
  if (!own.forward) return run_program(own, inputs, sizes);
  return own.forward->run(inputs, values_for(own.function.forward, sizes));
}

// At a level that asks for derivatives: the program's own are what it finds.
Tensors run_with_derivative(const Op& op, Inputs inputs, const Attrs& attrs) {
  const CustomOp& own = custom(op);
  if (is_interpreted_backward(own))
    throw OpError(ErrorKind::Capture, "the gradient of " + own.function.program_name +
                                          " is the interpreter's, and has no derivative in a graph");
  if (own.function.backward_of)
    return evaluate(with_sizes(own.function.forward, sizes_of(own, attrs)), inputs);
  SymbolValues sizes = values_of(own, attrs);
  if (!own.backward) return run_program(own, inputs, sizes);
  const std::size_t arguments = own.function.argument_count();
  const auto rules =
      std::make_shared<GraphRules>(own.shared_from_this(), inputs.subspan(arguments), std::move(sizes));
  return levels::apply_custom(rules, inputs.first(arguments));
}

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const CustomOp& op = custom(*attrs.op());
  const Graph& forward = op.function.forward;
  const SymbolSizes sizes = sizes_of(op, attrs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType wanted = type_with(forward.values[i].type, sizes);
    if (inputs[i] == wanted) continue;
    throw OpError(
        ErrorKind::Shape,
        forward.name + " was captured for a " + to_string(wanted) + ", not for a " + to_string(inputs[i]),
        {static_cast<int>(i)});
  }
  check_sizes(op, sizes);
  std::vector<TensorType> types;
  for (const Operand& each : forward.outputs)
    types.push_back(type_with(forward.values[as_index(each.value)].type, sizes));
  return types;
}

// ---- The derivative as one node ----

thread_local bool keeps_backward = false;
thread_local bool calls_interpreter = false;

// What all ops of backward bodies have, with the body as the forward one.
CustomFunction backward_function(const CustomOp& op, Graph body) {
  CustomFunction function{op.function.name + "_backward", std::move(body), {}, nullptr, {}};
  function.program_name = op.function.program_name;
  function.program_call = op.function.program_call;
  function.backward_of = op.shared_from_this();
  function.forward.stage = Stage::Forward;
  function.forward.name = function.name;
  return function;
}

std::shared_ptr<const Op> backward_op(const CustomOp& op) {
  if (auto known = op.kept_backward.lock()) return known;
  CustomFunction function = backward_function(op, *op.function.backward);
  for (Input& each : function.forward.inputs) each.role = Role::Argument;
  function.forward.outputs.clear();
  for (std::size_t i = 0; i < op.function.backward->outputs.size(); ++i) {
    const Operand& each = op.function.backward->outputs[i];
    if (!each.is_value()) continue;
    function.gradients_of.push_back(i);
    function.forward.outputs.push_back(each);
  }
  auto made = make_custom_op(std::move(function));
  op.kept_backward = made;
  return made;
}

// From the results of the application, then the gradient of each that has one.
std::shared_ptr<const Op> interpreted_backward_op(const CustomOp& op, std::span<const bool> needs) {
  const Graph& forward = op.function.forward;
  Builder builder;
  Node node;
  node.op = &interpreted_op();
  const auto take = [&](std::size_t k, std::string_view of) {
    const Value& result = forward.values[as_index(forward.outputs[k].value)];
    const std::string name = std::string(of) + std::to_string(k);
    node.operands.push_back(Operand::of(builder.input(name, result.type)));
  };
  for (std::size_t k = 0; k < forward.outputs.size(); ++k) take(k, "result");
  for (std::size_t k = 0; k < forward.outputs.size(); ++k) {
    if (has_gradient(op, k)) take(k, "grad");
  }
  std::vector<std::size_t> gradients_of;
  std::vector<Type> types;
  for (std::size_t i = 0; i < op.function.argument_count(); ++i) {
    if (!needs[i] || !is_differentiable(forward.values[i].type.dtype)) continue;
    gradients_of.push_back(i);
    types.push_back(forward.values[i].type);
  }
  for (const ValueId id : builder.append(std::move(node), types))
    builder.graph.outputs.push_back(Operand::of(id));
  builder.graph.fast_math = forward.fast_math;
  builder.graph.hints = forward.hints;
  CustomFunction function = backward_function(op, std::move(builder.graph));
  function.gradients_of = std::move(gradients_of);
  auto made = make_custom_op(std::move(function));
  op.interpreted_backwards.push_back(std::static_pointer_cast<const CustomOp>(made));
  return made;
}

// The gradients of the arguments that a backward body gives, by one node.
Tensors run_kept(const std::shared_ptr<const Op>& op, const SymbolSizes& sizes, Inputs given) {
  const CustomFunction& function = custom(*op).function;
  const Graph& backward = function.forward;
  Builder builder;
  Node node;
  node.op = builder.graph.own_ops.emplace_back(op).get();
  node.attrs = own_sizes(*op);
  builder.graph.fast_math = backward.fast_math;
  builder.graph.hints = backward.hints;
  for (const Value& each : std::span(backward.values).first(backward.inputs.size()))
    node.operands.push_back(Operand::of(builder.input(each.name, each.type)));
  std::vector<Type> types;
  for (const Operand& each : backward.outputs) types.push_back(backward.values[as_index(each.value)].type);
  for (const ValueId id : builder.append(std::move(node), types))
    builder.graph.outputs.push_back(Operand::of(id));
  builder.graph.stage = Stage::Functional;
  const Tensors values = evaluate(with_sizes(std::move(builder.graph), sizes), given);
  Tensors made(custom(*function.backward_of).function.argument_count());
  for (std::size_t k = 0; k < values.size(); ++k) made[function.gradients_of[k]] = values[k];
  return made;
}

// The derivative of a node whose backward body the interpreter has.
Tensors interpreted_vjp(const VjpArgs& args) {
  const CustomOp& op = custom(args.op);
  Tensors given(args.outputs.begin(), args.outputs.end());
  for (std::size_t k = 0; k < args.grads.size(); ++k) {
    if (has_gradient(op, k)) given.push_back(args.grads[k]);
  }
  Tensors made = run_kept(interpreted_backward_op(op, args.needs), sizes_of(op, args.attrs), given);
  made.resize(args.inputs.size());
  return made;
}

// The derivative of nodes of a graph: the steps of the backward body, or one node for it.
Tensors vjp(const VjpArgs& args) {
  const CustomOp& op = custom(args.op);
  const CustomFunction& function = op.function;
  const Graph& forward = function.forward;
  Tensors given;
  for (const ValueId id : forward.saved) {
    if (as_index(id) < forward.inputs.size()) {
      given.push_back(args.inputs[as_index(id)]);
    } else {
      const auto found = std::find(forward.outputs.begin(), forward.outputs.end(), Operand::of(id));
      given.push_back(args.outputs[static_cast<std::size_t>(found - forward.outputs.begin())]);
    }
  }
  for (std::size_t k = 0; k < args.grads.size(); ++k) {
    if (has_gradient(args.op, k)) given.push_back(args.grads[k]);
  }
  const SymbolSizes sizes = sizes_of(op, args.attrs);
  check_sizes(op, sizes);
  Tensors made = keeps_backward ? run_kept(backward_op(op), sizes, given)
                                : evaluate(with_sizes(*function.backward, sizes), given);
  made.resize(args.inputs.size());
  return made;
}

// Names of parameters are those of the values, as far as an op may have them.
std::string signature_of(const CustomFunction& function) {
  std::string text = function.name + "(";
  for (std::size_t i = 0; i < function.forward.inputs.size(); ++i) {
    text += (i > 0 ? ", x" : "x") + std::to_string(i) + ": tensor";
  }
  if (!function.symbols().empty()) text += function.forward.inputs.empty() ? "sizes: ints" : ", sizes: ints";
  return text + ")";
}

Saves saves_of(const CustomFunction& function) {
  const Graph& forward = function.forward;
  Saves saves;
  const auto bit = [](std::size_t i) { return 1U << std::min<std::size_t>(i, 31); };
  if (!function.backward) {  // the interpreter finds the application by its results
    for (std::size_t k = 0; k < forward.outputs.size(); ++k) saves.outputs |= bit(k);
  }
  for (const ValueId id : forward.saved) {
    if (as_index(id) < forward.inputs.size()) saves.inputs |= bit(as_index(id));
    for (std::size_t k = 0; k < forward.outputs.size(); ++k) {
      if (forward.outputs[k] == Operand::of(id)) saves.outputs |= bit(k);
    }
  }
  return saves;
}

// Of what the interpreter does all is possible.
constexpr std::uint32_t kInterpreted = kDraws | kOrdered;

std::uint32_t effects_of(const CustomFunction& function) {
  if (is_interpreted(function)) return kInterpreted | kMayFail;
  std::uint32_t effects = kNoEffects;
  for (const Node& node : function.forward.nodes) {
    if (!node.is_constant()) effects |= node.op->effects & ~std::uint32_t{kMayFail};
    if (must_run(function.forward, node)) effects |= kMayFail;
  }
  return effects;
}

}  // namespace

std::size_t CustomFunction::argument_count() const {
  return static_cast<std::size_t>(
      std::count_if(forward.inputs.begin(), forward.inputs.end(),
                    [](const Input& each) { return each.role == Role::Argument; }));
}

std::vector<std::string> CustomFunction::symbols() const {
  std::set<std::string> names;
  for (const auto& [symbol, hint] : forward.hints) names.insert(symbol);
  if (backward) {
    for (const auto& [symbol, hint] : backward->hints) names.insert(symbol);
  }
  return {names.begin(), names.end()};
}

std::vector<Attr> own_sizes(const Op& op) {
  const std::vector<std::string>& symbols = custom(op).symbols;
  if (symbols.empty()) return {};
  Dims sizes;
  for (const std::string& each : symbols) sizes.push_back(Dim::symbol(each));
  return {sizes};
}

std::shared_ptr<const Op> make_custom_op(CustomFunction function) {
  if (function.program_name.empty()) function.program_name = function.name;
  Op row{.signature = Signature::parse(signature_of(function)),
         .family = "autograd",
         .documentation = "A function of the program with a derivative of its own.",
         .example = "",
         .infer = infer,
         .decompose = run_with_derivative,
         .call = run_forward,
         .vjp = Rule<VjpFn>::none(kComposite),
         .jvp = Rule<JvpFn>::none(kComposite),
         .batch = Rule<BatchFn>::none(kComposite),
         .saves = saves_of(function),
         .lowering = Lowering::Library,
         .effects = effects_of(function),
         .outputs = static_cast<int>(function.forward.outputs.size())};
  return std::make_shared<const CustomOp>(row, std::move(function));
}

std::string find_fault(const CustomFunction& function) {
  const Graph& forward = function.forward;
  if (const std::string fault = find_fault(forward); !fault.empty()) return fault;
  if (!forward.effects.empty()) return "a body has no effects";
  std::size_t gradients = 0;
  const auto op =
      is_interpreted(function) ? nullptr : make_custom_op({function.name, forward, {}, nullptr, {}});
  for (std::size_t k = 0; k < forward.outputs.size(); ++k) {
    if (!forward.outputs[k].is_value()) return "a body gives values";
    gradients += op && has_gradient(*op, k) ? 1 : 0;
  }
  for (const ValueId id : forward.saved) {
    const bool given = as_index(id) < forward.inputs.size();
    const auto& outputs = forward.outputs;
    if (!given && std::find(outputs.begin(), outputs.end(), Operand::of(id)) == outputs.end())
      return "what is saved is an input or a result";
  }
  if (!function.backward) return {};
  const Graph& backward = *function.backward;
  if (const std::string fault = find_fault(backward); !fault.empty()) return fault;
  if (backward.inputs.size() != forward.saved.size() + gradients)
    return "backward takes what forward saved, and a gradient for each result";
  if (backward.outputs.size() != function.argument_count() || !backward.effects.empty())
    return "backward gives a gradient for each argument";
  return {};
}

KeptBackward::KeptBackward() : before_(std::exchange(keeps_backward, true)) {}
KeptBackward::~KeptBackward() { keeps_backward = before_; }
InterpretedBackward::InterpretedBackward() : before_(std::exchange(calls_interpreter, true)) {}
InterpretedBackward::~InterpretedBackward() { calls_interpreter = before_; }

const CustomFunction* custom_function(const Op& op) {
  const CustomOp* found = as_custom(op);
  return found == nullptr ? nullptr : &found->function;
}

std::shared_ptr<const Op> owner_of(const Op& op) {
  const CustomOp* found = as_custom(op);
  return found == nullptr ? owner_of_loop(op) : found->shared_from_this();
}

const Op& interpreted_op() {
  static const Op kRow{.signature = Signature::parse("interpreted(inputs: tensors)"),
                       .family = "autograd",
                       .documentation = "What the interpreter does.",
                       .example = "",
                       .call = [](const Op& op, Inputs, const Attrs&) -> Tensors { refuse(op); },
                       .lowering = Lowering::Library,
                       .effects = kInterpreted};
  return kRow;
}

bool is_interpreted(const CustomFunction& function) {
  const std::vector<Node>& nodes = function.forward.nodes;
  return !nodes.empty() && nodes[0].op == &interpreted_op();
}

bool same_op(const Op* a, const Op* b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr) return false;
  const CustomFunction* x = custom_function(*a);
  const CustomFunction* y = custom_function(*b);
  if (x == nullptr || y == nullptr) return is_same_loop(*a, *b);
  return x->name == y->name && x->forward == y->forward && x->backward == y->backward;
}

bool has_gradient(const Op& op, std::size_t output) {
  const CustomFunction* function = custom_function(op);
  if (function == nullptr) return true;
  const Graph& forward = function->forward;
  const ValueId id = forward.outputs[output].value;
  if (!is_differentiable(forward.values[as_index(id)].type.dtype)) return false;
  return std::none_of(forward.nodes.begin(), forward.nodes.end(), [id](const Node& node) {
    return !node.is_constant() && node.op->has(kStopsGradient) && node.outputs[0] == id;
  });
}

VjpFn derivative_of(const Op& op) {
  const CustomFunction* function = custom_function(op);
  if (function == nullptr) return op.vjp.fn;
  if (!function->backward && calls_interpreter && function->begin) return interpreted_vjp;
  if (!function->backward)
    throw OpError(ErrorKind::Capture, "the derivative of " + function->name + " is the interpreter's");
  return vjp;
}

std::vector<const Op*> custom_ops(const Graph& graph) {
  std::vector<const Op*> found;
  const auto add = [&found](const Op* op) {
    if (std::find(found.begin(), found.end(), op) == found.end()) found.push_back(op);
  };
  for (const Node& node : graph.nodes) {
    const CustomFunction* function = node.is_constant() ? nullptr : custom_function(*node.op);
    if (function == nullptr) continue;
    for (const Op* each : custom_ops(function->forward)) add(each);
    if (function->backward) {
      for (const Op* each : custom_ops(*function->backward)) add(each);
    }
    add(node.op);
  }
  return found;
}

}  // namespace kiln::jit
