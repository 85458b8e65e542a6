#include "jit/graph/loop.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "jit/flow/flow_graph.h"
#include "jit/flow/number_value.h"
#include "jit/runtime/loop_function.h"
#include "jit/runtime/loop_ops.h"
#include "jit/runtime/ownership.h"
#include "jit/shape_rules.h"
#include "tensor/functions.h"
#include "tensor/storage.h"
#include "tensor/substitute.h"

namespace kiln::jit {
namespace {

Tensors run_loop(const Op& op, Inputs inputs, const Attrs& attrs);

struct LoopOp : Op, std::enable_shared_from_this<LoopOp> {
  LoopOp(const Op& row, LoopFunction made) : Op(row), function(std::move(made)) {}
  LoopFunction function;
};

const LoopOp& loop(const Op& op) { return static_cast<const LoopOp&>(op); }

// ---- Types ----

TensorType type_with(const Type& type, const SymbolSizes& sizes) {
  TensorType result{type.dtype, type.device, type.sizes, type.is_number};
  for (Dim& each : result.sizes) each = substitute(each, sizes);
  return result;
}

// What the symbols of the flow are, as the sizes of the inputs tell.
SymbolSizes sizes_of(const FlowGraph& flow, std::span<const TensorType> inputs) {
  SymbolSizes sizes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Dims& stated = flow.values[i].type.sizes;
    for (std::size_t d = 0; d < std::min(stated.size(), inputs[i].sizes.size()); ++d) {
      const std::string symbol = stated[d].text();
      if (flow.hints.contains(symbol)) sizes.emplace(symbol, inputs[i].sizes[d]);
    }
  }
  return sizes;
}

// The values of the flow that are results, in order.
std::vector<Operand> results_of(const LoopFunction& function) {
  std::vector<Operand> results;
  for (const std::size_t i : function.written) results.push_back(Operand::of(static_cast<ValueId>(i)));
  const std::vector<Operand>& values =
      function.flow->exits[static_cast<std::size_t>(function.done.front())].values;
  for (const std::size_t k : function.given) results.push_back(values[k]);
  return results;
}

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const LoopFunction& function = loop(*attrs.op()).function;
  const FlowGraph& flow = *function.flow;
  const SymbolSizes sizes = sizes_of(flow, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TensorType wanted = type_with(flow.values[i].type, sizes);
    if (wanted.is_number) wanted.device = inputs[i].device;  // numbers are wherever the tensors are
    if (inputs[i] == wanted) continue;
    throw OpError(ErrorKind::Shape,
                  "the loop " + flow.name + " was captured for a " + to_string(wanted) + ", not for a " +
                      to_string(inputs[i]),
                  {static_cast<int>(i)});
  }
  std::vector<TensorType> types;
  for (const Operand& each : results_of(function)) {
    types.push_back(type_with(flow.type(each.value), sizes));
    types.back().is_number = false;
  }
  return types;
}

// ---- Running ----

// What the flow gave, in memory that is a result's alone.
Tensor as_result(const FlowValue& value) {
  if (!value.tensor) {
    const Tensor number = to_tensor(value.number);
    return ops::full({}, number, number.dtype());
  }
  const bool is_plain = fills_memory(value.tensor) && value.tensor.impl()->origin == nullptr;
  return is_plain ? value.tensor : ops::clone(value.tensor);
}

}  // namespace

LoopRun run_loop_by(RunnableFlow& run, const LoopFunction& function, std::span<const FlowValue> values) {
  const FlowResult result = run.run(values);
  if (std::find(function.done.begin(), function.done.end(), result.exit) == function.done.end()) {
    throw OpError(ErrorKind::Capture, "the loop " + function.flow->name + " is left: " +
                                          function.flow->exits[static_cast<std::size_t>(result.exit)].reason);
  }
  LoopRun made{{}, result.iterations};
  for (const std::size_t i : function.written) made.results.push_back(values[i].tensor);
  for (const std::size_t k : function.given) made.results.push_back(as_result(result.values[k]));
  return made;
}

namespace {

Tensors run_loop(const Op& op, Inputs inputs, const Attrs&) { return run_once(op, inputs).results; }

// A tensor with the same elements and a storage of its own. Its memory is the same until one is written.
Tensor apart(const Tensor& x) {
  if (!fills_memory(x)) return ops::clone(x);
  return Tensor::from_storage(Storage::create(x.storage()->buffer()), x.layout(), x.dtype());
}

}  // namespace

LoopRun run_once(const Op& op, Inputs inputs) {
  const LoopFunction& function = loop(op).function;
  LoopRun made = run_loop_by(*function.run, function, values_for(function, inputs));
  function.tally->runs.fetch_add(1, std::memory_order_relaxed);
  function.tally->iterations.fetch_add(made.iterations, std::memory_order_relaxed);
  return made;
}

std::vector<FlowValue> values_for(const LoopFunction& function, Inputs inputs) {
  std::vector<FlowValue> values(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (function.flow->values[i].type.is_number) {
      values[i].number = to_number(inputs[i]);
    } else {
      values[i].tensor = inputs[i].is_contiguous() ? inputs[i] : ops::clone(inputs[i]);
    }
  }
  for (const std::size_t i : function.written) values[i].tensor = apart(values[i].tensor);
  return values;
}

Signature signature_of_loop(const std::string& name, std::size_t inputs) {
  std::string text = name + "(";
  for (std::size_t i = 0; i < inputs; ++i) text += (i > 0 ? ", x" : "x") + std::to_string(i) + ": tensor";
  return Signature::parse(text + ")");
}

std::shared_ptr<const Op> make_loop_op(LoopFunction function) {
  Op row{.signature = signature_of_loop(function.name, function.flow->inputs.size()),
         .family = "loop",
         .documentation = "A loop of the program.",
         .example = "",
         .infer = infer,
         .decompose = loop_by_steps,
         .call = run_loop,
         .vjp = Rule<VjpFn>::none(kComposite),
         .jvp = Rule<JvpFn>::none(kComposite),
         .batch = loop_of_examples,
         .lowering = Lowering::Library,
         .effects = kMayFail,
         .outputs = static_cast<int>(function.written.size() + function.given.size()),
         .onnx = OnnxRule::none("the loop of a program is not written as operators")};
  return std::make_shared<const LoopOp>(row, std::move(function));
}

const LoopFunction* loop_function(const Op& op) { return op.call == run_loop ? &loop(op).function : nullptr; }

std::shared_ptr<const Op> owner_of_loop(const Op& op) {
  return op.call == run_loop ? loop(op).shared_from_this() : owner_of_loop_backward(op);
}

std::vector<const Op*> loop_ops(const Graph& graph) {
  std::vector<const Op*> found;
  for (const Node& node : graph.nodes) {
    const bool is_new = std::find(found.begin(), found.end(), node.op) == found.end();
    if (node.is_constant() || !is_new) continue;
    if (loop_function(*node.op) != nullptr || loop_backward(*node.op) != nullptr) found.push_back(node.op);
  }
  return found;
}

bool is_same_flow(const FlowGraph& a, const FlowGraph& b) {
  const auto text = [](FlowGraph flow) {
    for (auto& [symbol, hint] : flow.hints) hint = 0;
    return to_string(flow);
  };
  return text(a) == text(b);
}

bool is_same_loop(const Op& a, const Op& b) {
  const LoopFunction* const x = loop_function(a);
  const LoopFunction* const y = loop_function(b);
  if (x == nullptr || y == nullptr) return is_same_loop_backward(a, b);
  return x->name == y->name && x->done == y->done && x->written == y->written && x->given == y->given &&
         (x->flow == y->flow || is_same_flow(*x->flow, *y->flow));
}

namespace {

// The symbols of ints that sizes and places of the flow are written with: rules ask what these are now, and
// so does the derivative. Those of sizes stand in the head of the flow.
std::set<std::string> ints_in_sizes(const FlowGraph& flow) {
  std::set<std::string> symbols;
  for (const Value& each : flow.values) {
    collect_symbols(each.type.sizes, symbols);
    if (each.type.strides) collect_symbols(*each.type.strides, symbols);
  }
  for (const FlowBlock& block : flow.blocks) {
    for (const FlowStep& step : block.steps) {
      collect_symbols(step.node.attrs, symbols);
      for (const SizeGuard& guard : step.guards) {
        collect_symbols(guard.a, symbols);
        collect_symbols(guard.b, symbols);
      }
    }
  }
  std::erase_if(symbols, [](const std::string& each) { return !number_of(each); });
  return symbols;
}

}  // namespace

std::string loop_text(const Op& op) {
  const LoopFunction* const function = loop_function(op);
  if (function == nullptr) return loop_backward_text(op);
  const FlowGraph& flow = *function->flow;
  std::vector<std::size_t> captured;
  for (std::size_t i = 0; i < flow.inputs.size(); ++i)
    if (flow.inputs[i] == Role::Captured) captured.push_back(i);
  std::string text =
      to_string(flow) + fmt::format("{}: done at [{}], writes [{}], gives [{}]", function->name,
                                    fmt::join(function->done, ", "), fmt::join(function->written, ", "),
                                    fmt::join(function->given, ", "));
  if (!captured.empty()) text += fmt::format(", captures [{}]", fmt::join(captured, ", "));
  std::string separator = " with ";
  for (const std::string& each : ints_in_sizes(flow)) {
    text += fmt::format("{}{} = {}", separator, each, flow.hints.at(each));
    separator = ", ";
  }
  return text + "\n";
}

}  // namespace kiln::jit
