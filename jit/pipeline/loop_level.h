// Owns how a loop runs as a flow within one transform that differentiates, as `grad` and `vjp` do: the flow
// is given what the tensors of that level stand for, and what it gives becomes the level's.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "jit/flow/flow_graph.h"
#include "tensor/levels/grad_level.h"

namespace kiln::jit {

// The transform under way, where it is one that differentiates and nothing is around it; else null.
levels::Level* gradient_around();

// What a tensor of the program stands for below the level; absent as it is. Nothing where that is not plain:
// where the tape outside of the transform records it, or where it belongs to another level.
std::optional<Tensor> plain_below(const levels::Level& level, const Tensor& x);
// Likewise for all that a flow is given. Nothing also where two of the tensors stand for one.
std::optional<std::vector<FlowValue>> values_below(const levels::Level& level,
                                                   std::span<const FlowValue> program);
// What a flow gave for `below`, as the ops of the program would give it: an input is the program's own
// tensor, what shows an input's memory is a view of it, and all else is a tensor of the level.
void lift_results(const levels::Level& level, FlowResult& result, std::span<const FlowValue> program,
                  std::span<const FlowValue> below);

}  // namespace kiln::jit
