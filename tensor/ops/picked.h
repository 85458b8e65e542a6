// Owns what is known of ops that pick elements of tensors in memory, for those who read them a stretch at a
// time.
#pragma once

#include "tensor/cpu/picked.h"
#include "tensor/op.h"

namespace kiln {

// What the op gives for these inputs, all of its dtype but for indices. Throws what its eager kernel throws.
using PickFn = std::unique_ptr<const cpu::Picked> (*)(Inputs inputs, const Attrs& attrs);
// Null for an op that does more than that.
PickFn pick_of(const Op& op);

// Those of one file's ops.
PickFn pick_of_joining(const Op& op);         // shape.cpp: cat stack
PickFn pick_of_reversing(const Op& op);       // shape.cpp: flip
PickFn pick_of_triangles(const Op& op);       // create_matrix.cpp: tril triu
PickFn pick_of_padding(const Op& op);         // pad.cpp: constant_pad
PickFn pick_of_indexing(const Op& op);        // index.cpp: gather index_select
PickFn pick_of_advanced_index(const Op& op);  // index_advanced.cpp: index
PickFn pick_of_embedding(const Op& op);       // embedding.cpp: embedding

}  // namespace kiln
