// Owns writing the graph of a call to a file of ONNX.
#pragma once

#include "interpreter/host/graph_stages.h"
#include "onnx/export/export.h"

namespace kiln::interp::host {

// What was written.
struct WrittenModel {
  std::string path;
  std::vector<std::string> inputs, outputs;  // with their types: "x: f32[n, 4]"
  std::size_t node_count = 0, function_count = 0;
  std::vector<std::string> notes;
};

// Writes the stage of the call's one graph. Tensors that the call did not give (parameters, variables from
// outside) are part of the model. The file is read again and checked before it takes the place of another
// one. Raises CaptureError where the call has no graph or several, ValueError that lists all that ONNX has no
// form of, IOError.
WrittenModel write_onnx(const CapturedCall& call, const StageRow& stage, const std::string& path,
                        const onnx::ExportOptions& options);

}  // namespace kiln::interp::host
