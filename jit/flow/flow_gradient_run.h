// Owns running a flow graph with its derivative: forward keeps what backward needs, backward reads it as
// often as it is asked to.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/flow/flow_gradient.h"

namespace kiln::jit {

// What one run of forward kept. Nothing changes it: a run of backward reads it with a cursor of its own.
struct FlowKept {
  ExitId exit = 0;
  std::vector<FlowValue> inputs;           // as they were before
  std::shared_ptr<const FlowStack> stack;  // what was pushed
  std::size_t bytes() const;               // of the stack
};

struct FlowForward {
  FlowResult result;
  // Null: it left by an exit without a derivative. What it wrote is undone.
  std::shared_ptr<const FlowKept> kept;
};

// Forward and backward of one flow, both as machine code or both step by step. Backward graphs are made and
// compiled when they are first run, one for each exit and choice of outputs that gradients come in for.
class DifferentiatedFlow {
 public:
  virtual ~DifferentiatedFlow() = default;
  // Which outputs an exit has, and on which inputs they depend.
  virtual const FlowDerivative& derivative() const = 0;
  // Writes what the flow writes, in the memory of the inputs.
  virtual FlowForward forward(std::span<const FlowValue> inputs) = 0;
  // The gradients of inputs, by input, in memory of their own; for those that are not wanted or that no
  // gradient reaches, what was added up so far, if anything. `cotangents` are by output of the exit
  // (`FlowDerivative::outputs`), absent where no gradient comes in; each has the type of the output. `onto`:
  // by input, what was added up so far of its gradient, which the gradients continue; or empty. Nothing where
  // backward cannot run for these outputs: then the flow is differentiated op by op. Throws OpError
  // (Interrupted).
  virtual std::optional<Tensors> backward(const FlowKept& kept, std::span<const Tensor> cotangents,
                                          std::span<const Tensor> onto) = 0;
  // By the reason: how often backward gave nothing.
  virtual const std::map<std::string, std::int64_t>& left_to_tape() const = 0;
  // May the flow write the input?
  virtual bool writes(std::size_t input) const = 0;
  virtual std::size_t code_bytes() const = 0;
};

// Throws OpError (Capture) with the reason where the flow has no derivative,
// or where code cannot be made of forward.
std::unique_ptr<DifferentiatedFlow> differentiate_flow(std::shared_ptr<const FlowGraph> flow,
                                                       const std::vector<bool>& wanted, bool as_code);

}  // namespace kiln::jit
