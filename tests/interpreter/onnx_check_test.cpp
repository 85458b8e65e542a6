// The check of an exported model finds what differs, and names it.
#include "interpreter/host/onnx_check.h"

#include <catch2/catch.hpp>

#include "jit/graph/text.h"
#include "onnx/export/export.h"
#include "tensor/functions.h"

namespace kiln::onnx_check_test {

using namespace kiln::interp;

namespace {

std::string difference_with(const std::string& op_type) {
  const jit::Graph graph = jit::parse_graph(
      "graph functional f(%x: f32[2]) {\n"
      "  %a = mul(%x, %x) : f32[2]\n"
      "  %b = neg(%a) : f32[2]\n"
      "  return %a\n"
      "  write %x <- %b\n"
      "}\n");
  const std::vector<Tensor> given{ops::full(Dims{2}, Tensor::number(3.0), DType::F32)};
  const std::vector<Tensor> stored(1);
  onnx::ModelProto model = onnx::export_graph(graph, stored, {}).model;
  for (onnx::NodeProto& node : model.graph.nodes) {
    if (node.op_type == "Neg") node.op_type = op_type;
  }
  return host::model_difference(model, {graph, given, stored, {}});
}

}  // namespace

TEST_CASE("a model that computes something else than its graph is found", "[onnx]") {
  CHECK(difference_with("Neg").empty());
  CHECK(difference_with("Identity") == "`x.updated` differs in the model by 2.0e+00 of its largest element");
  CHECK(difference_with("Log").starts_with("`x.updated` differs in the model by "));
  CHECK(difference_with("IsNaN") == "`x.updated` is bool[2] in the model and f32[2] in the call");
}

}  // namespace kiln::onnx_check_test
