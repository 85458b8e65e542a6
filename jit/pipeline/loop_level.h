// Owns how a loop runs as a flow within one transform that differentiates, as `grad` and `vjp` do: the flow
// is given what the tensors of that level stand for, and what it gives becomes the level's.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "jit/flow/flow_graph.h"
#include "tensor/levels/grad_level.h"

namespace kiln::jit {

// Gives the transform under way where it is the only one, and has a tape of its own. It is null otherwise.
levels::Level* gradient_around();

// Gives what a tensor of the program stands for below the level; for an absent tensor an absent one. There is
// no result where that is not plain: where the tape outside of the transform records it, or where it belongs
// to another level.
std::optional<Tensor> plain_below(const levels::Level& level, const Tensor& x);
// The same for all that a flow is given. There is no result, either, where two tensors of the program stand
// for the same one below: what the flow gives back could not be told apart.
std::optional<std::vector<FlowValue>> values_below(const levels::Level& level,
                                                   std::span<const FlowValue> program);
// Makes what a flow gave for `below` into what the ops of the program would give: an input that comes back is
// the program's own tensor, a tensor that shares memory with an input is a view of it, and all else becomes a
// tensor of the level.
void lift_results(const levels::Level& level, FlowResult& result, std::span<const FlowValue> program,
                  std::span<const FlowValue> below);

}  // namespace kiln::jit
