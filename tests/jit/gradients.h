// Owns what the tape says of a program, to compare joint graphs with.
#pragma once

#include "jit/autodiff/differentiate.h"
#include "tensor/tensor.h"

namespace kiln::jit::testing {

// What comes of a run: results, what the arguments are then, and the gradients of the wanted inputs, absent
// where none arrives.
struct Outcome {
  std::vector<Tensor> outputs, arguments, gradients;
};
// A program with its joint graph, and gradients to hand in.
struct Case {
  Joint joint;
  std::function<std::vector<Tensor>()> arguments;
  std::vector<Tensor> grads;
  // Runs the program at whatever level is the top one, changing the arguments.
  std::function<Tensors(std::vector<Tensor>& arguments)> run;
};
Case case_of(const Graph& program, Joint joint, std::function<std::vector<Tensor>()> arguments);
// The derivative of the derivative: `joint` is that of the first case's joint graph. By the tape, the first
// is differentiated by the tape again.
Case second_case_of(const Case& first, Joint joint);

Outcome by_graph(const Joint& joint, std::vector<Tensor> arguments, const std::vector<Tensor>& grads);

// Does the program raise for these arguments? Its derivative does, too, where no gradient goes through what
// raises; a level, which sees all values, may not.
bool raises(const Graph& program, const std::vector<Tensor>& arguments);

// What differs between the tape, as eager code has it, and the joint graph; empty when nothing does to the
// bit. Both start from the same random state.
std::string difference(const Case& each);
// Between the tape and another way to run the joint graph.
std::string difference(const Case& each, const std::function<Outcome(std::vector<Tensor>)>& run);
// Does the tape refuse to differentiate the results of the program?
bool tape_refuses(const Graph& program, std::vector<Tensor> arguments);

// Every input of a float dtype.
std::vector<bool> all_floats(const Graph& graph);

}  // namespace kiln::jit::testing
