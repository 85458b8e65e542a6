// Writes each row of the op table, applied to its samples, as a model of ONNX, with what Kiln computes: what
// tests/peers/onnx_rows.py has a runtime compute.
//
//   onnx_rows FOLDER [OPSET [ROW...]]
//
// Each sample is FOLDER/op-1.onnx, and FOLDER/op-1.data.onnx with its inputs and results as initializers.
// Prints a line for each that has no model, with the reason.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "jit/graph/evaluate.h"
#include "jit/graph/rewrite.h"
#include "onnx/export/check.h"
#include "onnx/export/export.h"
#include "onnx/export/tensors.h"
#include "tensor/random.h"
#include "tests/tensor/samples.h"

namespace {

using namespace kiln;

struct RowSample {
  jit::Graph graph;
  std::vector<Tensor> inputs;  // of the graph
};

// Floats as f32, which runtimes have all operators for.
Tensor narrowed(const Tensor& x) {
  return x && x.dtype() == DType::F64 && !x.is_number() ? ops::to(x, DType::F32) : x;
}

RowSample row_sample(const Op& op, const kiln::testing::Sample& sample) {
  jit::Builder builder;
  builder.graph.name = op.name();
  builder.graph.stage = jit::Stage::Functional;
  jit::Node node;
  node.op = &op;
  node.attrs = jit::attr_list(kiln::testing::attrs_of(op, sample.attrs));
  RowSample result;
  for (const Tensor& given : sample.in_domain(sample.inputs)) {
    const Tensor input = narrowed(given);
    node.operands.push_back(input ? jit::Operand::of(builder.input("", jit::to_type(input.type())))
                                  : jit::Operand{});
    if (input) result.inputs.push_back(input);
  }
  for (const jit::ValueId id : builder.append(std::move(node)))
    builder.graph.outputs.push_back(jit::Operand::of(id));
  result.graph = std::move(builder.graph);
  return result;
}

void write(const std::string& path, const onnx::ModelProto& model) {
  std::ofstream(path, std::ios::binary) << onnx::write_model(model);
}

void write_data(const std::string& path, const std::vector<Tensor>& inputs, const Tensors& results) {
  onnx::ModelProto data;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    data.graph.initializers.push_back(onnx::to_proto(inputs[i], "input" + std::to_string(i)));
  for (std::size_t i = 0; i < results.size(); ++i)
    data.graph.initializers.push_back(onnx::to_proto(results[i], "result" + std::to_string(i)));
  write(path, data);
}

void write_sample(const std::string& folder, const std::string& name, const RowSample& sample, int opset) {
  onnx::ExportOptions options;
  options.opset = opset;
  options.generator = generator();
  const onnx::Export made = onnx::export_graph(sample.graph, {}, options);
  if (!made.problems.empty()) {
    std::printf("%s: %s\n", name.c_str(), made.problems[0].reason.c_str());
    return;
  }
  if (const std::string fault = onnx::find_fault(made.model); !fault.empty())
    std::printf("%s: wrong: %s\n", name.c_str(), fault.c_str());
  write(folder + "/" + name + ".onnx", made.model);
  const Tensors results = jit::evaluate(sample.graph, sample.inputs);
  write_data(folder + "/" + name + ".data.onnx", sample.inputs, results);
}

void write_row(const std::string& folder, const Op& op, int opset) {
  constexpr std::size_t kMost = 8;
  const std::vector<kiln::testing::Sample> samples = kiln::testing::samples_of(op);
  if (samples.empty()) std::printf("%s: no sample\n", std::string(op.name()).c_str());
  for (std::size_t i = 0; i < std::min(samples.size(), kMost); ++i) {
    const std::string name = std::string(op.name()) + "-" + std::to_string(i + 1);
    try {
      write_sample(folder, name, row_sample(op, samples[i]), opset);
    } catch (const std::exception& error) {
      std::printf("%s: %s\n", name.c_str(), error.what());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int opset = argc > 2 ? std::atoi(argv[2]) : onnx::ExportOptions().opset;
  kiln::seed(7);
  const std::vector<std::string_view> rows(argv + std::min(argc, 3), argv + argc);
  for (const Op* op : OpTable::get().ops()) {
    const bool is_wanted = rows.empty() || std::ranges::find(rows, op->name()) != rows.end();
    if (is_wanted && !kiln::testing::leaves_elements(*op)) write_row(argv[1], *op, opset);
  }
}
