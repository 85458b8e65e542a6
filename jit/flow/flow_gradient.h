// Owns the derivative of flow graphs by reverse mode: a flow that keeps, and one that goes the same way back.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/flow/flow_graph.h"

namespace kiln::jit {

// A tensor behind an exit that carries a derivative: a value of the exit, or an input that the flow writes.
struct FlowOutput {
  std::optional<std::size_t> value;  // among the values of the exit
  ValueId written = -1;              // else this input
  std::vector<bool> depends;         // by input of the flow: may the gradient reach it?
  std::string grad_fn;               // what the tape calls the step that makes it
  // It carries a derivative in runs where one of these flags is set; empty: in each run. Flags are a tensor
  // of bools, the last value of the exit of forward.
  std::vector<std::size_t> flags;
};

// The flow that goes back from one exit, for some of its outputs.
struct FlowBackward {
  FlowGraph graph;
  // What each input of it is.
  struct Input {
    enum class Kind : std::uint8_t {
      Symbol,     // the value of `symbol`, an int
      Given,      // input `number` of the flow, as it was given
      Cotangent,  // of output `number`; the flow may write it
      Gradient,   // memory of the gradient of input `number`, which holds what was added up so far, or -0.0,
                  // which added to anything changes no bit; the flow adds to it
    };
    Kind kind = Kind::Symbol;
    std::size_t number = 0;
    std::string symbol{};
  };
  std::vector<Input> inputs;
  // By input of the flow: the value of exit 0 that is its gradient.
  std::vector<std::optional<std::size_t>> gradients;
  // By input of the flow: may its gradient continue a sum that was begun before, in the tape's order?
  std::vector<bool> continues;
  // These inputs have no gradient where the bool at this place is true, in the value `absent` of exit 0, a
  // tensor.
  std::vector<std::pair<std::size_t, std::size_t>> uncertain;
  std::size_t absent = 0;
};

// The flow differentiated by some of its inputs. `forward` does what the flow does, with the same inputs and
// exits, and pushes on a stack (flow_stack.h) what `backward` pops. Gradients are those of the tape to the
// bit: they are added in the order in which it would add them.
class FlowDerivative {
 public:
  virtual ~FlowDerivative() = default;
  virtual const FlowGraph& flow() const = 0;  // that was given
  virtual const FlowGraph& forward() const = 0;
  virtual const std::vector<bool>& wanted() const = 0;
  // Of an exit behind the loop: its outputs. Other exits have none, and no derivative.
  virtual bool has_derivative(ExitId exit) const = 0;
  virtual const std::vector<FlowOutput>& outputs(ExitId exit) const = 0;
  // The flow back from an exit, where gradients come in for these outputs. Nothing where what is reached is
  // not known before it runs.
  virtual std::optional<FlowBackward> backward(ExitId exit, const std::vector<bool>& given) const = 0;
};

// `wanted` says of each input whether its gradient is asked for. No input that is written may share memory
// with another. Throws OpError (Capture) where an op has no derivative, or where the order of sums cannot be
// kept.
std::shared_ptr<const FlowDerivative> differentiate(const FlowGraph& flow, const std::vector<bool>& wanted);

// The flow with steps that record gradients, and are differentiated by their bodies, made of the steps of
// these. Throws OpError (Capture) for bodies that read elements or ask for sizes.
FlowGraph expanded(const FlowGraph& flow, const std::vector<bool>& wanted);

}  // namespace kiln::jit
