// Last, of what runs op by op: nothing looks at values any more, only at where they lie. What a kernel writes
// over it decides itself.
#include "jit/lifetimes.h"
#include "jit/passes/passes.h"

namespace kiln::jit {

Graph reinplace(Graph graph) {
  if (!graph.is_functional()) return graph;
  const Stage stage = graph.stage;
  Graph made = narrow_writes(std::move(graph));
  made.stage = stage;  // there are no kernels
  const Lifetimes lifetimes(made);
  std::vector<int> over;
  for (int place = 0; place < static_cast<int>(made.nodes.size()); ++place) {
    if (lifetimes.may_overwrite(place)) over.push_back(place);
  }
  for (const int place : over) made.nodes[static_cast<std::size_t>(place)].form = Form::Write;
  return made;
}

}  // namespace kiln::jit
