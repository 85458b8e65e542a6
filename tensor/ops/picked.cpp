#include "tensor/ops/picked.h"

namespace kiln {

PickFn pick_of(const Op& op) {
  if (op.lowering != Lowering::Gather) return nullptr;
  for (PickFn (*const of_file)(const Op&) :
       {pick_of_joining, pick_of_reversing, pick_of_triangles, pick_of_padding, pick_of_indexing,
        pick_of_advanced_index, pick_of_embedding}) {
    if (const PickFn found = of_file(op)) return found;
  }
  return nullptr;
}

}  // namespace kiln
