// Owns what the ops of loops and those of ways back through them share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/flow/flow_graph.h"
#include "jit/graph/loop.h"

namespace kiln::jit {

// What the flow is given for these inputs of the op, in memory of their own where it writes.
std::vector<FlowValue> values_for(const LoopFunction& function, Inputs inputs);
// "loop(x0: tensor, x1: tensor)".
Signature signature_of_loop(const std::string& name, std::size_t inputs);

// As those of loops (jit/graph/loop.h), of ops of ways back.
std::shared_ptr<const Op> owner_of_loop_backward(const Op& op);
bool is_same_loop_backward(const Op& a, const Op& b);
std::string loop_backward_text(const Op& op);

}  // namespace kiln::jit
