// Owns the graph that an import makes: ops on known elements are computed at once, all others become nodes.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "jit/graph/graph.h"
#include "tensor/error.h"
#include "tensor/symbolic_run.h"

namespace kiln::onnx {

// Elements are asked for that only a call of the graph knows.
class UnknownElements : public OpError {
 public:
  UnknownElements(const std::string& message, std::vector<std::string> follows);
  // The inputs of the model that the elements follow.
  const std::vector<std::string>& follows() const { return follows_; }

 private:
  std::vector<std::string> follows_;
};

class Recording final : public StandIn {
 public:
  // `byte_limit`: how much memory all that is computed at once may take. `is_call`: no graph is made, and
  // random numbers are drawn at once, too.
  Recording(std::int64_t byte_limit, bool is_call) : bytes_left_(byte_limit), is_call_(is_call) {}

  // An argument of the graph; the sizes may be symbols of the run.
  Tensor add_argument(const std::string& name, DType dtype, const Dims& sizes);
  // A tensor that the graph is given in each call beside its arguments.
  Tensor add_weight(const std::string& name, const Tensor& weight);
  bool is_known(const Tensor& x) const { return !slots_by_tensor_.contains(x.impl()) && !x.is_symbol(); }
  // The arguments that a value of the graph is computed from.
  std::vector<std::string> followed(Inputs tensors) const;

  // Of the nodes to come.
  void set_place(jit::Place place) { place_ = std::move(place); }
  // The user's name of a value, unless it has one.
  void set_name(const Tensor& x, const std::string& name);

  Tensors run(const Op& op, Inputs inputs, const Attrs& attrs) override;
  void write(const Op& op, Inputs inputs, const Attrs& attrs) override;

  // The graph with these results, without nodes and weights that they do not need. `weights` gets a tensor
  // for each input, absent for an argument.
  jit::Graph finish(const std::string& name, Inputs results, std::vector<Tensor>& weights);

 private:
  struct Step {
    const Op* op = nullptr;  // null: a constant
    std::vector<Attr> attrs;
    std::vector<jit::Operand> operands;  // values are slots
    std::vector<int> results;            // slots
    Tensor constant;
    jit::Place place;
  };
  struct Slot {
    Tensor tensor;
    std::string name;
    int step = -1;  // the step that gives it, -1 for an input
    bool is_argument = false;
    Tensor weight;
  };
  int add_slot(const Tensor& x, std::string name, int step);
  jit::Operand operand_of(const Tensor& x);
  Tensors note(const Op& op, Inputs inputs, const Attrs& attrs);
  Tensors compute(const Op& op, Inputs inputs, const Attrs& attrs);
  std::vector<bool> needed_slots(std::span<const jit::Operand> results) const;

  std::int64_t bytes_left_;
  bool is_call_;
  jit::Place place_;
  std::vector<Step> steps_;
  std::vector<Slot> slots_;
  std::unordered_map<const TensorImpl*, int> slots_by_tensor_;
  std::unordered_map<const TensorImpl*, int> constants_;
};

// A name as the text of graphs has it: letters, digits and underscores.
std::string graph_name(const std::string& name);

}  // namespace kiln::onnx
