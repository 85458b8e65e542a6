// Owns functions with derivatives of their own as ops: an application is one node, whose op holds the bodies.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "jit/graph/graph.h"
#include "jit/graph/interpreted_application.h"
#include "jit/graph/program_call.h"

namespace kiln::jit {

// The bodies of one application, with everything that is no tensor among its arguments built in, but for
// sizes: those that follow symbols are symbols of the bodies.
struct CustomFunction {
  std::string name;  // of the op
  // From the operands: arguments, then (captured) what the body reads from outside. Gives the results, then
  // what backward keeps beside them. Results that are not to be differentiated, and what is kept, are
  // detached. `saved`: the values that backward reads.
  Graph forward;
  // From the saved values and the gradient of each result that has one, those of the arguments, or `none`.
  // Nothing: the interpreter has it.
  std::optional<Graph> backward;
  // The function of the program, which does all at every level and gives the results. It is what runs where
  // there is no graph of it, on copies of the arguments `written`. Null: the graph was read from text.
  std::function<Tensors(Inputs arguments)> apply;
  std::vector<std::size_t> written;
  // What the program calls it, as `grad_fn` and messages say: ops of one function have names of their own.
  // Empty: the name of the op.
  std::string program_name = {};
  // What the program gave beside tensors. Null: the graph was read from text.
  std::shared_ptr<const ProgramCall> program_call = nullptr;
  // The program's function without its derivative by levels: backward is left for later. `needs`: the
  // arguments that are differentiated by. Null: the graph was read from text.
  std::function<InterpretedApplication(Inputs arguments, const std::vector<bool>& needs)> begin = nullptr;
  // Of an op that stands for the backward body of an application (`KeptBackward`, `InterpretedBackward`): the
  // op of the application, and the places of the arguments whose gradients are the results.
  std::shared_ptr<const Op> backward_of = nullptr;
  std::vector<std::size_t> gradients_of = {};

  std::size_t argument_count() const;
  // The symbols of the bodies, ordered by name. What each stands for in an application is the attribute
  // `sizes` of its node, also where an argument shows it: rules get it without asking the types, and so the
  // backward body has sizes that nothing shows which it reads. An op without symbols has no such attribute.
  std::vector<std::string> symbols() const;
};

std::shared_ptr<const Op> make_custom_op(CustomFunction function);
// The attributes of an application in which each symbol of the bodies is that of the graph around it.
std::vector<Attr> own_sizes(const Op& op);
// What is wrong with the bodies, which were read from text; empty when nothing is.
std::string find_fault(const CustomFunction& function);
// Null for ops of the table and for kernels.
const CustomFunction* custom_function(const Op& op);
// The op with what owns it; null for all others.
std::shared_ptr<const Op> owner_of(const Op& op);

// The body of what the interpreter does: the first node of such a forward graph.
const Op& interpreted_op();
bool is_interpreted(const CustomFunction& function);

// Equal ops: the same row, functions of one name with equal bodies, or equal loops (jit/graph/loop.h).
bool same_op(const Op* a, const Op* b);

// Does a gradient come in for this result of the op?
bool has_gradient(const Op& op, std::size_t output);
// The derivative of an op as graphs are differentiated by it. Throws OpError (Capture) when only the
// interpreter has it, outside of `InterpretedBackward`.
VjpFn derivative_of(const Op& op);

// Within its scope the derivative of an application is one node, whose op has the backward body as its
// forward one, in place of the steps of the body: what is exported keeps functions whole.
class KeptBackward {
 public:
  KeptBackward();
  ~KeptBackward();
  KeptBackward(const KeptBackward&) = delete;
  KeptBackward& operator=(const KeptBackward&) = delete;

 private:
  bool before_;
};

// Within its scope an application whose backward only the interpreter has is differentiated by one node,
// which calls the interpreter. It takes the results of the application and their gradients; the application
// that gave these results is known by their memory, and its context is released when its backward has run.
// What backward leaves out (`none`) is zeros. The node itself cannot be differentiated.
class InterpretedBackward {
 public:
  InterpretedBackward();
  ~InterpretedBackward();
  InterpretedBackward(const InterpretedBackward&) = delete;
  InterpretedBackward& operator=(const InterpretedBackward&) = delete;

 private:
  bool before_;
};

// The ops of such functions in a graph, in order, each once; those in bodies come before what they are in.
std::vector<const Op*> custom_ops(const Graph& graph);

}  // namespace kiln::jit
