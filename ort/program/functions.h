// Owns the autograd functions of a program as ONNX Runtime runs them: by name, on tensors, with contexts that
// live from forward to backward.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "interpreter/interpreter.h"
#include "jit/graph/program_call.h"

namespace kiln::ort {

struct FunctionArgument {
  interp::Value value;
  bool requires_grad = false;
};

class Functions {
 public:
  // Runs the program, which defines the functions. Throws UserError.
  explicit Functions(const std::string& program);
  ~Functions();
  Functions(const Functions&) = delete;
  Functions& operator=(const Functions&) = delete;

  // The function of a qualified name ("Clip", "layers.Clip"). Throws OpError (Value).
  interp::Value find(const std::string& name);
  // The value of a constant. Throws OpError (Value) where the program keeps nothing under its name; `what` is
  // the argument, in words.
  interp::Value constant(const jit::HostValue& value, const std::string& what);

  // Results that are no tensors are left out. `context` is 0 where no argument needs a gradient.
  struct Forward {
    std::uint64_t context = 0;
    std::vector<Tensor> results;
  };
  Forward forward(const std::string& name, bool is_training, const std::vector<FunctionArgument>& arguments);
  // One gradient for each argument, absent where none was asked for; absent ones come in where a result had
  // no use. The context is freed.
  std::vector<Tensor> backward(std::uint64_t context, const std::vector<Tensor>& gradients);
  // The types of the results, as the function's `infer_shape` says. `constants`: by argument as text, empty
  // for a tensor; `given`: the types of the tensors.
  std::vector<jit::HookType> shapes(const std::string& name, const std::vector<std::string>& constants,
                                    const std::vector<jit::HookType>& given);
  void free(std::uint64_t context) { contexts_.erase(context); }
  std::size_t live() const { return contexts_.size(); }

  interp::Interpreter& interpreter() { return interpreter_; }

 private:
  struct Context {
    std::vector<Tensor> arguments;  // leaves; absent for those that are no tensors, or need no gradient
    std::vector<Tensor> results;
  };
  interp::Interpreter interpreter_;
  std::string folder_;
  std::map<std::uint64_t, Context> contexts_;
  std::uint64_t last_context_ = 0;
};

}  // namespace kiln::ort
