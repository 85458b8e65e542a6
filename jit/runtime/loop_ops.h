// Owns what the ops of loops and those of ways back through them share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/flow/flow_graph.h"
#include "jit/graph/loop.h"
#include "jit/runtime/loop_function.h"

namespace kiln::jit {

// What the flow is given for these inputs of the op, in memory of their own where it writes.
std::vector<FlowValue> values_for(const LoopFunction& function, Inputs inputs);
// "loop(x0: tensor, x1: tensor)".
Signature signature_of_loop(const std::string& name, std::size_t inputs);

// The results of a run of the loop, in memory of their own. Throws OpError (Capture) where it is left by
// another exit than those at which it is done.
LoopRun run_loop_by(RunnableFlow& run, const LoopFunction& function, std::span<const FlowValue> values);

// ---- Under transforms (loop_transforms.cpp) ----

// What the tape and transforms see: the ops of the loop, one by one.
Tensors loop_by_steps(const Op& op, Inputs inputs, const Attrs& attrs);
// All examples of a batch go through the loop together, by the batching rules of its ops. Where these refuse,
// as where a number is asked of what differs between examples, each goes through it alone.
Tensors loop_of_examples(const BatchArgs& args);

// As those of loops (jit/graph/loop.h), of ops of ways back.
std::shared_ptr<const Op> owner_of_loop_backward(const Op& op);
bool is_same_loop_backward(const Op& a, const Op& b);
std::string loop_backward_text(const Op& op);

}  // namespace kiln::jit
