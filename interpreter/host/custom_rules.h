// Owns a function with derivatives of its own, as the levels see it, apart from the language it is written
// in.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tensor/levels/batch_level.h"
#include "tensor/tape/custom.h"

namespace kiln::interp::host {

using Flags = std::vector<bool>;

// What backward reads of a forward call, as tensors of the level that asks.
struct Kept {
  std::vector<kiln::Tensor> inputs;
  std::vector<kiln::Tensor> outputs;
};

// One application of a function: forward runs once, the rest any number of times after it.
class CustomRules {
 public:
  virtual ~CustomRules() = default;
  virtual std::string name() const = 0;
  // At the bottom, with recording off. `needs`: which inputs some level wants a gradient of.
  virtual kiln::Tensors forward(kiln::Inputs inputs, const Flags& needs) = 0;
  // At any level. Gradients by input, absent for none, of their sizes.
  virtual kiln::Tensors backward(const Kept& kept, kiln::Inputs grads, const Flags& needs) = 0;
  // Tangents of the outputs; `has_jvp` says whether the author gave it.
  virtual bool has_jvp() const = 0;
  virtual kiln::Tensors jvp(const Kept& kept, kiln::Inputs tangents) = 0;
  // Absent gradients of outputs are passed as zeros.
  virtual bool wants_zeros() const = 0;
  // By output: not to be differentiated.
  virtual Flags constants() const = 0;
  // Does backward read this input, this output? Known after forward.
  virtual bool reads_input(std::size_t i) const = 0;
  virtual bool reads_output(std::size_t i) const = 0;
  // The author's rule for a batch: false when there is none. Outputs with the batch as dimension 0 where
  // `batched` says so. Runs below the batch's level.
  virtual bool batch(const levels::BatchLevel& level, kiln::Inputs values, const Flags& is_batched,
                     kiln::Tensors& outputs, Flags& batched) = 0;
};

// Runs forward once through all levels that are on the stack, and records what each will need.
kiln::Tensors apply_custom(const std::shared_ptr<CustomRules>& rules, kiln::Inputs inputs);

}  // namespace kiln::interp::host
