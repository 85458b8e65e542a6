// Owns the recording of a graph: a level under which ops run as ever, and are noted as nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/graph.h"
#include "tensor/levels/level.h"

namespace kiln::jit {

// The lowest level of the stack: what it sees are plain tensors, and every op of the transforms above it. Ops
// are computed at once, so that the recorded call is a call like any other. Tensors are known by identity;
// the recorder holds all it has seen.
class Recorder final : public levels::Level {
 public:
  // `find_input` is asked for the role and name of a tensor that no op made; nothing: it may not be used.
  using FindInput = std::function<std::optional<std::pair<Role, std::string>>(const Tensor&)>;
  Recorder(std::string graph_name, FindInput find_input);

  // Where the nodes to come stand in the source.
  void set_place(Place place) { place_ = std::move(place); }

  bool knows(const Tensor& x) const { return ids_.contains(x.impl()); }
  // The user's name of a value, unless it has one.
  void set_name(const Tensor& x, const std::string& name);

  // How far the recording has come, and why it cannot go on from there; empty while it can.
  struct Mark {
    std::size_t nodes = 0;
    std::size_t results = 0;
  };
  Mark mark() const { return {nodes_.size(), results_.size()}; }
  const std::string& trouble() const { return trouble_; }
  bool is_stopped() const { return !trouble_.empty(); }

  // The graph up to a mark, with these tensors as its outputs. Ends the use of the recorder.
  Graph take(const Mark& until, Inputs outputs);
  // The tensors of its inputs.
  std::span<const Tensor> inputs() const { return inputs_; }

  Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs) override;
  Tensor write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType& result) override;
  Tensor rearrange(const Op& op, Inputs inputs, const Attrs& attrs) override;
  Tensor adopt(Tensor made) override;
  void stop_noting(std::string_view what) override;

 private:
  // Inputs are found while nodes are noted, so values are numbered apart: inputs below zero.
  static int input_id(std::size_t k) { return -static_cast<int>(k) - 10; }
  Operand operand_of(const Tensor& x);
  bool add_input(const Tensor& x);
  void drop_unused_inputs(Inputs outputs);
  Node node_of(const Op& op, Form form, Inputs inputs, const Attrs& attrs);
  void note(Node node, Inputs results);
  int add_result(const Tensor& x, Type type);
  Tensor without_history(const Tensor& x);
  bool loses_history(Inputs inputs) const;

  std::string graph_name_;
  FindInput find_input_;
  Place place_;
  std::string trouble_;
  bool records_gradients_;
  std::unordered_map<const TensorImpl*, int> ids_;
  std::vector<Tensor> inputs_;
  std::vector<Input> input_roles_;
  std::vector<Value> input_values_;
  std::vector<Node> nodes_;
  std::vector<Value> results_;
  std::vector<Tensor> kept_;  // so that no two tensors are ever at one address
  struct Renaming {
    std::size_t nodes;  // how many there were before
    const TensorImpl* tensor;
    int id;  // that it had
  };
  std::vector<Renaming> renamings_;
};

}  // namespace kiln::jit
