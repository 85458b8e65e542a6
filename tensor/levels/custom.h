// Owns a function with derivatives of its own, as the levels see it, apart from the language it is written
// in.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tensor/levels/batch_level.h"
#include "tensor/symbolic_run.h"
#include "tensor/tape/custom.h"

namespace kiln::levels {

using Flags = std::vector<bool>;

// What backward reads of a forward call, as tensors of the level that asks.
struct SavedTensors {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

// Counts applications whose derivative may still be asked for.
class LiveApplication {
 public:
  LiveApplication();
  ~LiveApplication();
  LiveApplication(const LiveApplication&) = delete;
  LiveApplication& operator=(const LiveApplication&) = delete;
};
std::size_t live_applications();  // for tests of what is freed

// One application of a function: forward runs once, the rest any number of times after it.
class CustomRules {
 public:
  virtual ~CustomRules() = default;
  virtual std::string name() const = 0;
  // A level that notes ops notes this application as a whole.
  virtual bool is_noted() const { return false; }
  // Does backward do more than ops on what forward left to it, as far as is known?
  virtual bool is_opaque() const { return true; }
  // At the bottom, with recording off. `needs`: which inputs some level wants a gradient of.
  virtual Tensors forward(Inputs inputs, const Flags& needs) = 0;
  // At any level. Gradients by input, absent for none, of their sizes.
  virtual Tensors backward(const SavedTensors& kept, Inputs grads, const Flags& needs) = 0;
  // Tangents of the outputs; `has_jvp` says whether the author gave it.
  virtual bool has_jvp() const = 0;
  virtual Tensors jvp(const SavedTensors& kept, Inputs tangents) = 0;
  // Absent gradients of outputs are passed as zeros.
  virtual bool wants_zeros() const = 0;
  // By output: not to be differentiated.
  virtual Flags constants() const = 0;
  // Does backward read this input, this output? Known after forward.
  virtual bool reads_input(std::size_t i) const = 0;
  virtual bool reads_output(std::size_t i) const = 0;
  // The author's rule for a batch: false when there is none. Outputs with the batch as dimension 0 where
  // `batched` says so. Runs below the batch's level.
  virtual bool batch(const BatchLevel& level, Inputs values, const Flags& is_batched, Tensors& outputs,
                     Flags& batched) = 0;
  virtual void visit_references(ReferenceVisitor& visitor) const = 0;
};

// The types of the arguments, for rules that may outlive the call: where that is recorded over symbols, sizes
// are ints from its end on.
class ArgumentTypes {
 public:
  ArgumentTypes() = default;
  ~ArgumentTypes() {
    if (in_run_) SymbolicRun::forget(this);
  }
  ArgumentTypes(const ArgumentTypes&) = delete;
  ArgumentTypes& operator=(const ArgumentTypes&) = delete;
  void add(const Tensor& x);
  const TensorType& operator[](std::size_t i) const { return types_[i]; }

 private:
  std::vector<TensorType> types_;
  bool in_run_ = false;  // a call that is recorded over symbols knows them
};
// A gradient or tangent, number `number` of what `body` of the function `name` returned, of the sizes it must
// have. Throws OpError (Shape).
Tensor fitted(const Tensor& x, const TensorType& type, std::string_view name, std::string_view body,
              std::string_view what, std::size_t number);

// The same function, whose forward runs when it is first asked for; from then on it gives what it gave.
std::shared_ptr<CustomRules> run_once(std::shared_ptr<CustomRules> rules);

// Runs forward once through all levels that are on the stack, and records what each will need.
Tensors apply_custom(const std::shared_ptr<CustomRules>& rules, Inputs inputs);

}  // namespace kiln::levels
