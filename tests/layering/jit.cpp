// Links graphs over tensors alone: a graph is read from text and run, also compiled.
#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/pipeline/fused.h"
#include "tensor/functions.h"

int main() {
  const kiln::jit::Graph graph = kiln::jit::parse_graph(
      "graph forward f(%x: f32[n]) where n = 2 {\n"
      "  %y = mul(%x, 3) : f32[n]\n"
      "  %a = add(%y, 1) : f32[n]\n"
      "  %z = sum(%a) : f32[]\n"
      "  return %z\n"
      "}\n");
  const kiln::Dim sizes[] = {5};
  const kiln::Tensor x = kiln::ops::ones(sizes);
  const kiln::jit::FusedGraph fused = kiln::jit::fuse(graph);
  const bool same = kiln::jit::evaluate(graph, {&x, 1})[0].item_float() == 20.0 &&
                    kiln::jit::evaluate(fused.graph, {&x, 1})[0].item_float() == 20.0;
  return same && fused.graph.own_ops.size() == 1 ? 0 : 1;
}
