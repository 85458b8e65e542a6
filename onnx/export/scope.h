// Owns writing nodes: the names, nodes and constants of one scope, which is the graph of a model or the body
// of a local function.
#pragma once

#include <map>
#include <set>

#include "jit/graph/rewrite.h"
#include "onnx/export/export.h"
#include "tensor/onnx/nodes.h"

namespace kiln::onnx {

class ModelWriter;

class Scope final : public OnnxNodes {
 public:
  Scope(ModelWriter& model, bool is_function) : model_(model), is_function_(is_function) {}

  int opset() const override;
  bool draws_at_runtime() const override;
  std::vector<std::string> add(std::string_view type, std::vector<std::string> operands, OnnxAttrs attributes,
                               std::size_t results) override;
  std::string constant(const Tensor& value) override;
  std::string sizes(std::span<const Dim> sizes) override;
  std::string size(const Dim& size) override;
  std::string draw_words(const Dim& blocks) override;

  ModelWriter& model() { return model_; }
  // A name that no value of the scope has.
  std::string fresh(const std::string& like) { return jit::fresh_name(names_, like); }
  // A node of any domain. It gets the name and place of what is being written, unless it has a name.
  void add(NodeProto node);

  // Writes the nodes of a graph over these values, one per input, and gives those of its outputs and then
  // those of its effects. Values of the graph keep their names where nothing else has them. What cannot be
  // written becomes a problem of the model.
  struct Written {
    OnnxValues outputs, effects;
  };
  Written write(const jit::Graph& graph, const OnnxValues& inputs);

  // From here on sizes of `type` are taken from the shape of the value.
  void show_sizes(const std::string& value, const jit::Type& type);
  // A symbol's value, i64[].
  void give_symbol(const std::string& symbol, std::string value) {
    symbols_[symbol] = {std::move(value), -1};
  }
  // Symbols that were asked for and are the size of no input, with the names of the values that stand for
  // them. The caller makes these values further inputs of the model or function.
  const std::vector<std::pair<std::string, std::string>>& missing_symbols() const { return missing_; }
  // Makes `value` the result called `name`.
  void name_result(const std::string& name, const OnnxValue& value);

  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;  // of a graph; constants of functions are nodes
  std::vector<ValueInfo> values;          // types of what the graph has names for
  bool draws = false;                     // are the inputs `seed` and `draw` read?

 private:
  struct SymbolSource {
    std::string value;
    int axis = -1;  // -1: the value is the symbol
  };
  OnnxValues apply(const jit::Graph& graph, const jit::Node& node, const OnnxValues& known);
  OnnxValues written(const jit::Graph& graph, const jit::Node& node, const OnnxValues& operands);
  OnnxValue operand(const jit::Operand& operand, const OnnxValues& known);
  void write_node(const jit::Graph& graph, const jit::Node& node, const std::vector<std::string>& names,
                  OnnxValues& known);
  std::string renamed(std::size_t first, const std::string& from, const std::string& to);
  std::string symbol(const std::string& name);
  std::string one_size(const Dim& size);

  ModelWriter& model_;
  bool is_function_;
  jit::TakenNames names_, node_names_;  // of values; of nodes, which a runtime tells apart by name
  std::map<std::string, SymbolSource, std::less<>> symbols_;
  std::map<std::string, std::string, std::less<>> sizes_;  // by text of the expression
  std::set<std::string, std::less<>> shared_;              // names that keep to be what they are
  std::vector<std::pair<std::string, std::string>> missing_;
  std::string node_name_, node_doc_;  // of what is being written
};

}  // namespace kiln::onnx
