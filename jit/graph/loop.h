// Owns loops of a program as ops: an application is one node of a graph, whose op holds the flow graph.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/graph/graph.h"
#include "jit/graph/piece_reader.h"

namespace kiln::jit {

struct FlowGraph;
class RunnableFlow;

// How often a loop has run forward as a node. Several threads may run it.
struct LoopTally {
  std::atomic<std::int64_t> runs{0};
  std::atomic<std::int64_t> iterations{0};  // with those of loops within it
};

// The op is given the inputs of the flow and writes none of them. Its results are the last elements of the
// inputs in `written`, then the values in `given` of the exit at which the loop is done; numbers among them
// are tensors of rank 0. Where the flow leaves by another exit, the application fails: OpError (Capture).
struct LoopFunction {
  std::string name;  // of the op
  std::shared_ptr<const FlowGraph> flow;
  std::shared_ptr<RunnableFlow> run;
  bool as_code = true;    // is `run` machine code?
  std::vector<int> done;  // the exits at which the loop is done, whose values are alike
  std::vector<std::size_t> written;
  std::vector<std::size_t> given;
  std::shared_ptr<LoopTally> tally = std::make_shared<LoopTally>();
};

std::shared_ptr<const Op> make_loop_op(LoopFunction function);
// Null for all other ops.
const LoopFunction* loop_function(const Op& op);

// The way back through a loop. The op is given the inputs of the loop, then the gradients of the results that
// are `given`, then the sums so far of the inputs that are `onto`, which it continues; its results are the
// gradients of the inputs `gradients`. It goes through the loop once more, keeping what the way back reads.
struct LoopBackward {
  std::string name;                      // of the op
  std::shared_ptr<const Op> loop;        // of a LoopFunction
  std::vector<bool> wanted;              // by input of the loop: is its gradient asked for?
  std::vector<bool> given;               // by result of the loop
  std::vector<bool> onto;                // by input of the loop
  std::vector<std::size_t> gradients{};  // filled in by make_loop_backward
};
// A result of a loop where gradients of inputs are asked for.
struct LoopResult {
  bool carries = false;       // a gradient may come in for it
  std::string grad_fn{};      // what the tape calls the step that makes it
  std::vector<bool> depends;  // by input: may the gradient reach it?
};
// Both throw OpError (Capture) where the loop has no derivative, or where which gradients there are is not
// known before it runs.
std::vector<LoopResult> differentiated_results(const Op& loop, const std::vector<bool>& wanted);
std::shared_ptr<const Op> make_loop_backward(LoopBackward backward);
// Null for all other ops.
const LoopBackward* loop_backward(const Op& op);

// ---- Loops and ways back ----

// What keeps the op alive; null for all other ops.
std::shared_ptr<const Op> owner_of_loop(const Op& op);
// Those among the nodes of a graph, in order, each once.
std::vector<const Op*> loop_ops(const Graph& graph);
// Do both do the same, for whatever sizes they were read?
bool is_same_flow(const FlowGraph& a, const FlowGraph& b);
// Are both of one name, with equal flows, operands and results?
bool is_same_loop(const Op& a, const Op& b);
// The flow graph of the op as text, and what the op does with it: "loop: done at [0], writes [0], gives [1],
// captures [2] with n7 = 5", which inputs are variables around the program's function, and what ints are
// when the loop was read that sizes follow. Of a way back, both flows, and "loop_backward: back through loop,
// wants [0], given [1], onto []".
std::string loop_text(const Op& op);
using LoopsByName = std::unordered_map<std::string, std::shared_ptr<const Op>>;
// Reads all such texts from where `reader` stands, and goes behind them. Throws OpError (Syntax).
void read_loops(TextReader& reader, const ConstantsByDigest& constants, LoopsByName& loops);

}  // namespace kiln::jit
