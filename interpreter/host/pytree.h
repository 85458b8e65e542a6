// Owns pytrees: values as structures of lists, tuples, dicts and structs around their leaves.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "interpreter/values/objects.h"
#include "tensor/tensor.h"

namespace kiln::interp::host {

// A leaf with its path: "" for the tree itself, else names and positions with dots between, as
// `nn.state_dict` has them: "layers.0.weight".
using LeafVisitor = std::function<void(const Value& leaf, const std::string& path)>;
void each_leaf(const Value& tree, const LeafVisitor& visit);

// The same structure with `f(leaf, path)` in place of every leaf. Containers and structs are new, also one
// that is reached twice. Everything that is no container is a leaf: tensors, numbers, text, functions.
using LeafMap = std::function<Value(const Value& leaf, const std::string& path)>;
Value map_leaves(const Value& tree, const LeafMap& f);
// Likewise for the leaves that are tensors; the others stay what they are.
Value map_tensors(const Value& tree, const std::function<Value(const kiln::Tensor&)>& f);
std::vector<kiln::Tensor> tensors_in(const Value& tree);
// The structure with its tensors, in order, replaced by `leaves`.
Value with_tensors(const Value& tree, const std::vector<Value>& leaves);

// Pairs the tensors of `tree` with what stands at their places in `other`, which must have the same structure
// there. ValueError in the words of `what` ("cotangent"), naming the place.
std::vector<std::pair<kiln::Tensor, Value>> pair_tensors(const Value& tree, const Value& other,
                                                         const std::string& what);
// For each leaf of `tree` what `prefix` says of it: an item of a container in `prefix` speaks of the same
// item of `tree`, anything else of all leaves below. ValueError in the words of `what` ("in_dims").
std::vector<Value> broadcast_prefix(const Value& tree, const Value& prefix, const std::string& what);

}  // namespace kiln::interp::host
