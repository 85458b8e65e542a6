// Owns which ops of a flow become the smaller ops that they are, since these are loops in its code.
#pragma once

#include <memory>

#include "jit/flow/flow_graph.h"

namespace kiln::jit {

// An op that is one reduction of few elements with one or two elementwise steps around it, as `mean`, `any`
// and `count_nonzero` are, becomes these, which give the same bits: a call of its kernel takes longer than
// they do. Of many elements the kernel, which goes through them once, is quicker.
std::shared_ptr<const FlowGraph> opened(std::shared_ptr<const FlowGraph> flow);

}  // namespace kiln::jit
