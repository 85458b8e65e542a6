// Owns exporting a graph as an ONNX model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jit/graph/graph.h"
#include "onnx/proto/model.h"
#include "tensor/random.h"

namespace kiln::onnx {

inline constexpr int kOldestOpset = 13;
inline constexpr int kNewestOpset = 23;

// How functions with derivatives of their own leave.
enum class CustomForm : std::uint8_t {
  Function,  // a local function made of the body, so that any runtime runs it
  PythonOp,  // the nodes of ONNX Runtime's training build
  Inline,    // the nodes of the body in place of a call
  Refuse,    // not at all: such a function is a problem
};

struct ExportOptions {
  int opset = 20;
  CustomForm custom = CustomForm::Function;
  bool draws_at_runtime = false;  // random numbers are the runtime's, not Kiln's
  Generator generator{};          // where draws begin: the defaults of the model's inputs `seed` and `draw`
};

// What of a graph cannot be exported, and where in the program it stands.
struct ExportProblem {
  jit::Place place;
  std::string reason;  // one sentence
};

struct Export {
  ModelProto model;
  std::vector<ExportProblem> problems;  // all there are; with any, the model is not whole
  std::vector<std::string> notes;       // what the user should know of the model, one sentence each
};

// The model of a graph without writes. `stored` has a tensor for each input of the graph that is to be part
// of the model, as an initializer of that name, and an absent one for each that a call gives. A stored input
// that the graph writes is an input of the model too, with the tensor as its default. The new elements of a
// written input `x` are the output `x.updated`. Throws OpError (Value) for an opset that is out of range.
Export export_graph(const jit::Graph& graph, std::span<const Tensor> stored, const ExportOptions& options);

}  // namespace kiln::onnx
