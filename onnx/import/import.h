// Owns importing ONNX models: to a graph whose weights are tensors beside it, or running one at once.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "jit/graph/graph.h"
#include "onnx/import/tensors.h"
#include "onnx/import/value.h"
#include "onnx/proto/model.h"
#include "tensor/error.h"

namespace kiln::onnx {

struct ImportOptions {
  // Sizes that are open in the model: by the name of the symbol, or all of an input by its name. Others are
  // symbols.
  std::map<std::string, std::int64_t> sizes;
  std::map<std::string, Dims> shapes;
  // Inputs with elements that are known when the graph is made; they are no arguments of it.
  std::map<std::string, Tensor> fixed;
  ExternalData external;
  std::string name = "model";  // of the graph, and what its nodes say where they come from
  // How much memory what is computed from constants may take.
  std::int64_t byte_limit = std::int64_t{4} << 30;
  // Where weights and constants are, and where the arguments of the graph must be. `fixed` is copied there.
  Device device = default_device();
};

// Elements of these inputs decide what the graph is.
class InputsNeeded : public OpError {
 public:
  InputsNeeded(const OpError& error, std::vector<std::string> inputs)
      : OpError(error), inputs_(std::move(inputs)) {}
  const std::vector<std::string>& inputs() const { return inputs_; }

 private:
  std::vector<std::string> inputs_;
};

struct Imported {
  jit::Graph graph;             // captured: arguments in the order of the model, then weights
  std::vector<Tensor> weights;  // by input of the graph, absent for arguments
};

// Throws OpError: (Value) for a model that is none, with all unknown operators at once, (DType) for elements
// that Kiln has no type for, InputsNeeded (Capture) where elements of inputs decide what the graph is, (IO)
// where data beside the model cannot be read. Memory is bounded by the options and by the model's bytes.
Imported import_model(const ModelProto& model, const ImportOptions& options);

// The outputs of the model for these inputs, in its order; absent ones are optional inputs without a value.
// Throws as `import_model` does, and OpError (Device) for an input that is not on the device of the options.
Values run_model(const ModelProto& model, const Values& inputs, const ImportOptions& options);

// The model of a file, whose folder has the data beside it. Throws OpError (IO, Value).
ModelProto read_model_file(const std::filesystem::path& path);

}  // namespace kiln::onnx
