// The way back through a loop as an op of joint graphs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>

#include "jit/flow/flow_gradient_run.h"
#include "jit/flow/number_value.h"
#include "jit/runtime/loop_by_steps.h"
#include "jit/runtime/loop_ops.h"
#include "tensor/functions.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/mode.h"

namespace kiln::jit {
namespace {

constexpr const char* kReachDiffers = "which gradients a loop gives depends on the way that it is left";

[[noreturn]] void refuse(const std::string& reason) { throw OpError(ErrorKind::Capture, reason); }

Tensors run_backward(const Op& op, Inputs inputs, const Attrs& attrs);

struct LoopBackwardOp : Op, std::enable_shared_from_this<LoopBackwardOp> {
  LoopBackwardOp(const Op& row, LoopBackward made, std::shared_ptr<DifferentiatedFlow> run)
      : Op(row), backward(std::move(made)), flow(std::move(run)) {}
  LoopBackward backward;
  std::shared_ptr<DifferentiatedFlow> flow;
};

// Where the way back through a loop ends.
class EndNode final : public tape::Node {
 public:
  explicit EndNode(const TensorType& type) : Node(tape::next_sequence()) { output_types.push_back(type); }
  std::string name() const override { return "an input of a loop"; }
  Tensors backward(Inputs, std::span<const bool>) override { return {}; }

 private:
  void visit_kept(ReferenceVisitor&) const override {}
};

const LoopBackwardOp& as_backward(const Op& op) { return static_cast<const LoopBackwardOp&>(op); }

// ---- Which results carry gradients ----

// The results of the loop that the outputs of an exit are, by output; empty where an output is no result.
std::vector<std::optional<std::size_t>> results_by_output(const LoopFunction& function,
                                                          const std::vector<FlowOutput>& outputs,
                                                          ExitId exit) {
  const std::vector<Operand>& values = function.flow->exits[static_cast<std::size_t>(exit)].values;
  std::vector<std::optional<std::size_t>> results;
  for (const FlowOutput& output : outputs) {
    std::optional<std::size_t> found;
    if (!output.value) {
      const auto at = std::find(function.written.begin(), function.written.end(),
                                static_cast<std::size_t>(output.written));
      if (at != function.written.end()) found = static_cast<std::size_t>(at - function.written.begin());
    } else {
      const auto is_it = [&](std::size_t k) { return values[k] == values[*output.value]; };
      const auto at = std::find_if(function.given.begin(), function.given.end(), is_it);
      if (at != function.given.end())
        found = function.written.size() + static_cast<std::size_t>(at - function.given.begin());
    }
    results.push_back(found);
  }
  return results;
}

std::vector<LoopResult> results_at(const LoopFunction& function, const FlowDerivative& derivative,
                                   ExitId exit) {
  if (!derivative.has_derivative(exit)) refuse("a loop is left where it has no derivative");
  const std::vector<FlowOutput>& outputs = derivative.outputs(exit);
  const auto by_output = results_by_output(function, outputs, exit);
  std::vector<LoopResult> results(function.written.size() + function.given.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (!outputs[k].flags.empty())
      refuse("whether a result of a loop carries a gradient is known when it has run");
    if (!by_output[k]) refuse("a gradient goes through a tensor that a loop gives as it was given it");
    LoopResult& result = results[*by_output[k]];
    if (!result.carries) result = {true, outputs[k].grad_fn, outputs[k].depends};
  }
  return results;
}

bool is_alike(const LoopResult& a, const LoopResult& b) {
  return a.carries == b.carries && a.grad_fn == b.grad_fn && a.depends == b.depends;
}

std::vector<LoopResult> results_of(const LoopFunction& function, const FlowDerivative& derivative) {
  std::vector<LoopResult> results = results_at(function, derivative, function.done.front());
  for (const ExitId exit : function.done) {
    const std::vector<LoopResult> others = results_at(function, derivative, exit);
    if (!std::equal(results.begin(), results.end(), others.begin(), is_alike))
      refuse("which results of a loop carry gradients depends on the way that it is left");
  }
  return results;
}

// ---- The gradients ----

// The inputs whose gradients there are, where gradients come in for these results.
std::vector<std::size_t> gradients_at(const LoopFunction& function, const LoopBackward& backward,
                                      const FlowDerivative& derivative, ExitId exit) {
  const auto by_output = results_by_output(function, derivative.outputs(exit), exit);
  std::vector<bool> given;
  for (const auto& result : by_output) given.push_back(result && backward.given[*result]);
  const std::optional<FlowBackward> way = derivative.backward(exit, given);
  if (!way) refuse("what the derivative of a loop reaches is known when it has run");
  if (!way->uncertain.empty())
    refuse("whether a gradient comes to an input of a loop is known when it has run");
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < way->gradients.size(); ++i) {
    if (!way->gradients[i]) continue;
    found.push_back(i);
    if (backward.onto[i] && !way->continues[i])
      refuse("the gradient of a tensor of a loop cannot continue a sum");
  }
  return found;
}

// The inputs that gradients of these results reach where the loop is left by the exit.
std::vector<std::size_t> reached_at(const LoopFunction& function, const FlowDerivative& derivative,
                                    ExitId exit, const std::vector<bool>& given) {
  LoopBackward backward;
  backward.given = given;
  backward.onto.resize(function.flow->inputs.size());
  return gradients_at(function, backward, derivative, exit);
}

// A graph is made before it is known which results gradients come in for. So what each of them reaches must
// be known, alone and with all others, and be the same by each exit; or backward would be refused when the
// program has already run.
void expect_known_reach(const LoopFunction& function, const FlowDerivative& derivative) {
  const std::size_t results = function.written.size() + function.given.size();
  for (std::size_t k = 0; k <= results; ++k) {
    std::vector<bool> given(results, k == results);
    if (k < results) given[k] = true;
    const std::vector<std::size_t> reached = reached_at(function, derivative, function.done.front(), given);
    for (const ExitId exit : function.done)
      if (reached_at(function, derivative, exit, given) != reached) refuse(kReachDiffers);
  }
}

// ---- The op ----

std::vector<TensorType> infer_gradients(std::span<const TensorType> inputs, const Attrs& attrs) {
  std::vector<TensorType> types;
  for (const std::size_t i : as_backward(*attrs.op()).backward.gradients)
    types.push_back({inputs[i].dtype, inputs[i].device, inputs[i].sizes, false});
  return types;
}

// The gradients among the operands of a way back, by output of the exit.
Tensors cotangents_at(const LoopFunction& function, const LoopBackwardOp& op, ExitId exit, Inputs inputs) {
  std::size_t next = function.flow->inputs.size();
  Tensors by_result(op.backward.given.size());
  for (std::size_t r = 0; r < by_result.size(); ++r)
    if (op.backward.given[r]) by_result[r] = inputs[next++];
  Tensors found;
  for (const auto& result : results_by_output(function, op.flow->derivative().outputs(exit), exit))
    found.push_back(result ? std::exchange(by_result[*result], Tensor()) : Tensor());
  return found;
}
// The sums so far among them, by input of the loop.
Tensors sums_of(const LoopBackward& backward, Inputs inputs) {
  Tensors sums(backward.onto.size());
  std::size_t next = inputs.size();
  for (std::size_t i = sums.size(); i-- > 0;)
    if (backward.onto[i]) sums[i] = inputs[--next];
  return sums;
}

void expect_done(const LoopFunction& function, ExitId exit) {
  if (std::find(function.done.begin(), function.done.end(), exit) == function.done.end())
    refuse("the loop " + function.flow->name + " is left in another way when it is differentiated");
}

Tensors chosen(const LoopBackward& backward, const Tensors& by_input) {
  Tensors results;
  for (const std::size_t i : backward.gradients) results.push_back(by_input[i]);
  return results;
}

// What the tape sees: the ops of the loop, which are differentiated as those of a program.
Tensors gradients_by_steps(const Op& op, Inputs inputs, const Attrs&) {
  const LoopBackwardOp& own = as_backward(op);
  const LoopBackward& backward = own.backward;
  const LoopFunction& function = *loop_function(*backward.loop);
  std::vector<FlowValue> values(function.flow->inputs.size());
  std::vector<tape::Edge> histories;
  Tensors sums;
  const Tensors onto = sums_of(backward, inputs);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (function.flow->values[i].type.is_number) {
      values[i].number = to_number(inputs[i]);
      continue;
    }
    const Tensor x = ops::contiguous(inputs[i]);
    values[i].tensor = without_history(x);
    if (!backward.wanted[i]) continue;
    const tape::Edge known = tape::recording ? tape::history(x) : tape::Edge{};
    histories.push_back(known ? known : tape::Edge{Ref<tape::Node>(new EndNode(x.type())), 0});
    sums.push_back(onto[i]);
  }
  const auto at_exit = [&](ExitId exit) {
    expect_done(function, exit);
    return cotangents_at(function, own, exit, inputs);
  };
  const std::unique_ptr<RunnableFlow> again =
      recorded(std::make_shared<const FlowGraph>(own.flow->derivative().flow()));
  const Tensors found = back_by_steps(*again, own.flow->derivative(), values, histories, at_exit, sums);
  Tensors by_input(values.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < by_input.size(); ++i)
    if (backward.wanted[i]) by_input[i] = found[next++];
  return chosen(backward, by_input);
}

Tensors run_backward(const Op& op, Inputs inputs, const Attrs& attrs) {
  const LoopBackwardOp& own = as_backward(op);
  const LoopFunction& function = *loop_function(*own.backward.loop);
  const FlowForward forward =
      own.flow->forward(values_for(function, inputs.first(function.flow->inputs.size())));
  const ExitId exit = forward.result.exit;
  expect_done(function, exit);
  if (forward.kept == nullptr) refuse("a loop is left where it has no derivative");
  const std::optional<Tensors> gradients = own.flow->backward(
      *forward.kept, cotangents_at(function, own, exit, inputs), sums_of(own.backward, inputs));
  return gradients ? chosen(own.backward, *gradients) : gradients_by_steps(op, inputs, attrs);
}

// Flows are differentiated once for each choice of inputs.
std::shared_ptr<DifferentiatedFlow> differentiated(const LoopFunction& function,
                                                   const std::vector<bool>& wanted) {
  struct Known {
    std::weak_ptr<const FlowGraph> flow;
    std::vector<bool> wanted;
    std::weak_ptr<DifferentiatedFlow> made;
  };
  static std::mutex lock;
  static std::vector<Known> known;
  const std::lock_guard guard(lock);
  std::erase_if(known, [](const Known& each) { return each.flow.expired() || each.made.expired(); });
  for (const Known& each : known)
    if (each.flow.lock() == function.flow && each.wanted == wanted) return each.made.lock();
  std::shared_ptr<DifferentiatedFlow> made = differentiate_flow(function.flow, wanted, function.as_code);
  known.push_back({function.flow, wanted, made});
  return made;
}

}  // namespace

std::vector<LoopResult> differentiated_results(const Op& loop, const std::vector<bool>& wanted) {
  const LoopFunction& function = *loop_function(loop);
  const std::shared_ptr<DifferentiatedFlow> flow = differentiated(function, wanted);
  std::vector<LoopResult> results = results_of(function, flow->derivative());
  expect_known_reach(function, flow->derivative());
  return results;
}

std::shared_ptr<const Op> make_loop_backward(LoopBackward backward) {
  const LoopFunction& function = *loop_function(*backward.loop);
  std::shared_ptr<DifferentiatedFlow> flow = differentiated(function, backward.wanted);
  backward.gradients = gradients_at(function, backward, flow->derivative(), function.done.front());
  for (const ExitId exit : function.done) {
    if (gradients_at(function, backward, flow->derivative(), exit) != backward.gradients)
      refuse(kReachDiffers);
  }
  const auto count = [](const std::vector<bool>& bits) {
    return static_cast<std::size_t>(std::count(bits.begin(), bits.end(), true));
  };
  const std::size_t inputs = function.flow->inputs.size() + count(backward.given) + count(backward.onto);
  constexpr std::string_view kNoRule =
      "it is the way back through a loop, which the function that the graph was made of takes op by op";
  Op row{.signature = signature_of_loop(backward.name, inputs),
         .family = "loop",
         .documentation = "The way back through a loop of the program.",
         .example = "",
         .infer = infer_gradients,
         .decompose = gradients_by_steps,
         .call = run_backward,
         .vjp = Rule<VjpFn>::none(kComposite),
         .jvp = Rule<JvpFn>::none(kNoRule),
         .batch = Rule<BatchFn>::none(kNoRule),
         .lowering = Lowering::Library,
         .effects = kMayFail,
         .outputs = static_cast<int>(backward.gradients.size()),
         .onnx = OnnxRule::none("the loop of a program is not written as operators")};
  return std::make_shared<const LoopBackwardOp>(row, std::move(backward), std::move(flow));
}

const LoopBackward* loop_backward(const Op& op) {
  return op.call == run_backward ? &as_backward(op).backward : nullptr;
}

std::shared_ptr<const Op> owner_of_loop_backward(const Op& op) {
  return op.call == run_backward ? as_backward(op).shared_from_this() : nullptr;
}

bool is_same_loop_backward(const Op& a, const Op& b) {
  const LoopBackward* const x = loop_backward(a);
  const LoopBackward* const y = loop_backward(b);
  if (x == nullptr || y == nullptr) return false;
  return x->name == y->name && x->wanted == y->wanted && x->given == y->given && x->onto == y->onto &&
         is_same_loop(*x->loop, *y->loop);
}

// From the first of the exits at which the loop is done.
std::string loop_backward_text(const Op& op) {
  const LoopBackwardOp& own = as_backward(op);
  const LoopFunction& function = *loop_function(*own.backward.loop);
  const FlowDerivative& derivative = own.flow->derivative();
  const ExitId exit = function.done.front();
  std::vector<bool> given;
  for (const auto& result : results_by_output(function, derivative.outputs(exit), exit))
    given.push_back(result && own.backward.given[*result]);
  const auto set = [](const std::vector<bool>& bits) {
    std::vector<std::size_t> numbers;
    for (std::size_t k = 0; k < bits.size(); ++k)
      if (bits[k]) numbers.push_back(k);
    return fmt::format("[{}]", fmt::join(numbers, ", "));
  };
  const LoopBackward& backward = own.backward;
  return to_string(derivative.forward()) + to_string(derivative.backward(exit, given)->graph) +
         fmt::format("{}: back through {}, wants {}, given {}, onto {}\n", backward.name,
                     backward.loop->name(), set(backward.wanted), set(backward.given), set(backward.onto));
}

}  // namespace kiln::jit
