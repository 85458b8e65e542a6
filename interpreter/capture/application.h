// Owns applications of autograd functions in captured code: each becomes one node, with its bodies as graphs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "interpreter/capture/tracer.h"
#include "jit/graph/interpreted_application.h"

namespace kiln::interp::capture {

// An application of the recorded call.
struct Application {
  std::string name;
  Value backward;                   // the function; unset: there is none
  Value context;                    // after forward; `saved` is taken out of it
  std::size_t context_holders = 0;  // other owners than the function, which may change its fields
  std::vector<Value> saved;
  std::vector<Value> arguments;    // tensors left out
  std::vector<std::string> names;  // of the arguments
  std::vector<std::size_t> tensor_arguments;
  std::vector<Tensor> inputs;  // the arguments that are tensors
  std::vector<Value> outputs;  // tensors left out
  std::vector<std::size_t> tensor_outputs;
  std::vector<Tensor> made;     // the outputs that are tensors, as forward returned them
  std::vector<Tensor> results;  // and as the program has them
  std::vector<bool> constants;  // not to be differentiated
  bool materializes_grads = true;
  std::shared_ptr<const jit::ProgramCall> program_call;  // of the host values, those of this call
  std::function<Tensors(Inputs)> apply;
  std::function<jit::InterpretedApplication(Inputs, const std::vector<bool>& needs)> begin;
};

// The scope in which forward runs.
class BodyScope {
 public:
  // Open where the application may become a node: a tracer is active, and no transform sees single ops.
  explicit BodyScope(Vm& vm);
  ~BodyScope();
  BodyScope(const BodyScope&) = delete;
  BodyScope& operator=(const BodyScope&) = delete;

  bool is_open() const { return tracer_ != nullptr; }
  // Called when forward has run and levels have recorded it. Is backward a graph of the values that forward
  // saved? Then a backward of the same call may note it like any function.
  bool close(const Application& application);

 private:
  static bool context_escapes(const Tracer& tracer, const Application& application);
  std::string program_trouble(Tracer& tracer, const Application& application) const;

  Vm& vm_;
  Tracer* tracer_ = nullptr;
  std::size_t effects_ = 0;  // on host data, when it began
};

}  // namespace kiln::interp::capture
