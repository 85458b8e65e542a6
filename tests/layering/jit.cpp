// Links graphs over tensors alone: a graph is read from text and run.
#include "jit/evaluate.h"
#include "jit/text.h"
#include "tensor/functions.h"

int main() {
  const kiln::jit::Graph graph = kiln::jit::parse_graph(
      "graph forward f(%x: f32[n]) where n = 2 {\n"
      "  %y = mul(%x, 3) : f32[n]\n"
      "  %z = sum(%y) : f32[]\n"
      "  return %z\n"
      "}\n");
  const kiln::Dim sizes[] = {5};
  const kiln::Tensor x = kiln::ops::ones(sizes);
  return kiln::jit::evaluate(graph, {&x, 1})[0].item_float() == 15.0 ? 0 : 1;
}
