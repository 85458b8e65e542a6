#include "jit/graph/custom.h"

#include <algorithm>
#include <set>

#include "jit/graph/evaluate.h"
#include "jit/graph/loop.h"
#include "jit/graph/verify.h"
#include "jit/graph/with_sizes.h"
#include "jit/runtime/custom_op.h"
#include "jit/runtime/prepared.h"
#include "tensor/functions.h"
#include "tensor/integers.h"

namespace kiln::jit {
namespace {

Tensors run_forward(const Op& op, Inputs inputs, const Attrs& attrs);

TensorType type_with(const Type& type, const SymbolSizes& sizes) {
  TensorType result{type.dtype, type.device, type.sizes, type.is_number};
  for (Dim& each : result.sizes) each = substitute(each, sizes);
  return result;
}

std::shared_ptr<const Executable> overwriting(const Graph& body) {
  return prepared(body, {.op_by_op = &recipes::kOverwriting}).run;
}

const CustomOp* as_custom(const Op& op) {
  return op.call == run_forward ? static_cast<const CustomOp*>(&op) : nullptr;
}

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
  const auto rules = graph_rules(own.shared_from_this(), inputs.subspan(arguments), std::move(sizes));
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

CustomOp::CustomOp(const Op& row, CustomFunction made)
    : Op(row), function(std::move(made)), symbols(function.symbols()) {
  if (!is_interpreted(function)) forward = overwriting(function.forward);
  if (function.backward) backward = overwriting(*function.backward);
}

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
