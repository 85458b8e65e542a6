// Owns writing the graph of a call to a file of ONNX.
#pragma once

#include <optional>

#include "interpreter/host/graph_stages.h"
#include "onnx/export/export.h"

namespace kiln::interp::host {

// What was written.
struct WrittenModel {
  std::string path;
  std::vector<std::string> inputs, outputs;  // with their types: "x: f32[n, 4]"
  std::size_t node_count = 0, function_count = 0;
  std::vector<std::string> notes;
  std::string data_path;  // of the file with elements; empty: they are in the model

  // "f.onnx: 3 nodes, x: f32[3, 4] -> y: f32[3, 2]", and a line for each note.
  std::string text() const;
};

struct WriteOptions {
  onnx::ExportOptions model{};
  bool check = true;  // run the model and compare it with the graph
  // Write the elements of large tensors to the file `path` + ".data". Nothing: where one file would be too
  // large for other programs.
  std::optional<bool> external;
};

// Writes the stage of the call's one graph. Tensors that the call did not give (parameters, variables from
// outside) are part of the model. What is written is read again, checked and run by the importer, before it
// takes the place of another file. Raises CaptureError where the call has no graph or several, ValueError
// that lists all that ONNX has no form of or tells the first output that differs, IOError.
WrittenModel write_onnx(const CapturedCall& call, const StageRow& stage, const std::string& path,
                        const WriteOptions& options);
// The same of the call f(*positional, **named), which is made for it; then what it changed of the program is
// taken back.
WrittenModel export_call(Interpreter& interpreter, const Value& f, std::span<const Value> positional,
                         std::span<const std::pair<std::string_view, Value>> named, const StageRow& stage,
                         const std::string& path, const WriteOptions& options);

}  // namespace kiln::interp::host
