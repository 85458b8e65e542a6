// Owns loops of a program as ops: an application is one node of a graph, whose op holds the flow graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

struct FlowGraph;
class RunnableFlow;

// The op is given the inputs of the flow and writes none of them. Its results are the last elements of the
// inputs in `written`, then the values in `given` of the exit at which the loop is done; numbers among them
// are tensors of rank 0. Where the flow leaves by another exit, the application fails: OpError (Capture).
struct LoopFunction {
  std::string name;  // of the op
  std::shared_ptr<const FlowGraph> flow;
  std::shared_ptr<RunnableFlow> run;
  std::vector<int> done;  // the exits at which the loop is done, whose values are alike
  std::vector<std::size_t> written;
  std::vector<std::size_t> given;
};

std::shared_ptr<const Op> make_loop_op(LoopFunction function);
// Null for all other ops.
const LoopFunction* loop_function(const Op& op);
// What keeps the op alive; null for all other ops.
std::shared_ptr<const Op> owner_of_loop(const Op& op);
// The loops among the nodes of a graph, in order, each once.
std::vector<const Op*> loop_ops(const Graph& graph);
// Do both do the same, for whatever sizes they were read?
bool is_same_flow(const FlowGraph& a, const FlowGraph& b);
// Are both loops, of one name, with equal flows and results?
bool is_same_loop(const Op& a, const Op& b);
// The flow graph of a loop's op as text.
std::string loop_text(const Op& op);

}  // namespace kiln::jit
