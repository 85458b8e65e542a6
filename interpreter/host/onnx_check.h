// Owns the check of a model that is exported: that it computes what its graph does.
#pragma once

#include <span>
#include <string>

#include "jit/graph/graph.h"
#include "onnx/proto/model.h"
#include "tensor/random.h"

namespace kiln::interp::host {

// A graph with what its inputs were in the call that is exported.
struct ExportedCall {
  const jit::Graph& graph;
  std::span<const Tensor> given;   // by input; those of gradients may be absent and are ones then
  std::span<const Tensor> stored;  // by input: what is part of the model, absent for what a call gives
  kiln::Generator generator;       // where draws begin
};

// Runs the model by the importer and the graph op by op, on the same inputs. The first output that differs by
// more than 1e-5 of its largest element (of floats of 16 bits: by some of their last places), with both types
// or the figure; empty: none. Integers, and what is no number, are the same. Throws OpError as the importer
// does.
std::string model_difference(const onnx::ModelProto& model, const ExportedCall& call);
// Why the importer cannot run the model; empty: it can.
std::string why_not_run(const onnx::ModelProto& model);

}  // namespace kiln::interp::host
