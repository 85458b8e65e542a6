// Owns carrying out the nodes of a model one by one, over values.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/import/call.h"
#include "onnx/import/recording.h"
#include "onnx/import/tensors.h"

namespace kiln::onnx {

// The names that the nodes of a graph or a function see.
class NameScope {
 public:
  explicit NameScope(const NameScope* outer = nullptr) : outer_(outer) {}
  const Value* find(const std::string& name) const;
  void set(const std::string& name, Value value) { values_[name] = std::move(value); }

  // Of the body of a function: the node that calls it, the scope of the node, and the function.
  const NodeProto* caller = nullptr;
  const NameScope* caller_scope = nullptr;
  const FunctionProto* function = nullptr;
  const NameScope* outer() const { return outer_; }

 private:
  const NameScope* outer_;
  std::unordered_map<std::string, Value> values_;
};

class Evaluator {
 public:
  Evaluator(const ModelProto& model, Recording& recording, const ExternalData& external);

  Recording& recording() const { return recording_; }
  const ExternalData& external() const { return external_; }

  // The outputs of a graph for its inputs in order. A scope around it is that of a node whose attribute it
  // is.
  Values run(const GraphProto& graph, Values inputs, const NameScope* outer);
  // The same with the inputs and weights already in `scope`.
  Values run_in(const GraphProto& graph, NameScope& scope);
  // Throws OpError (Value) that names all operators of the model that have no function, with their counts.
  void check_operators() const;
  // From now on the generator of a model that Kiln exported, a function of it, is the process's own.
  void draw_from_generator() { draws_from_generator_ = true; }

 private:
  void run_nodes(const std::vector<NodeProto>& nodes, NameScope& scope);
  void run_node(const NodeProto& node, NameScope& scope);
  Values results_of(const NodeProto& node, NameScope& scope);
  Values call_function(const FunctionProto& function, const NodeProto& node, NameScope& scope);
  const FunctionProto* find_function(const NodeProto& node) const;
  std::int64_t opset_of(const std::string& domain, const NameScope& scope) const;
  void count_unknown(const std::vector<NodeProto>& nodes,
                     std::vector<std::pair<std::string, int>>& unknown) const;

  const ModelProto& model_;
  Recording& recording_;
  const ExternalData& external_;
  std::int64_t nodes_run_ = 0;
  int depth_ = 0;
  bool draws_from_generator_ = false;
  bool is_told_ = false;  // an error names its node; those around it add nothing
};

}  // namespace kiln::onnx
