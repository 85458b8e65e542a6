// Owns the reports of capture: the graphs of one call, the entries of a function, and counts. Natives and the
// prompt's commands show them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/values/value.h"
#include "jit/graph/graph.h"
#include "tensor/random.h"

namespace kiln::interp {

class Interpreter;

// Where capture had to stop, and why: one sentence.
struct GraphBreak {
  std::string reason;
  std::string file;
  int line = 0;
};

// A stretch of a call between breaks. One that runs no op has a graph without nodes.
struct CapturedGraph {
  jit::Graph graph;
  std::vector<std::string> guards;  // in words
  std::string break_reason;         // why it ends where it does; empty at the end of the call
  std::string break_file;           // empty where it is in no text of the program
  int break_line = 0;
  std::vector<Tensor> arguments;  // the graph's arguments, as the call left them
  double memory_budget = 1;       // the argument of `jit`
  std::vector<Tensor> given;      // the arguments before the call, in memory that no write reaches
  kiln::Generator generator;      // of random numbers, before the graph ran
  bool taped = true;              // the graph runs under the tape where an argument requires a gradient
  bool differentiated = false;    // gradients are part of the graph
  // What the passes of the program that the function is compiled with make of its graph without writes; empty
  // where it is compiled with none.
  std::function<jit::Graph(jit::Graph)> edit{};
};

// Captures one call of `function` with these arguments. It uses no entries made before, and keeps none.
// Throws what the call throws. `result` gets what the call gave.
std::vector<CapturedGraph> capture_call(Interpreter& interpreter, const Value& function,
                                        std::span<const Value> positional,
                                        std::span<const std::pair<std::string_view, Value>> named,
                                        Value& result);

// A compiled graph, with what must hold for it to be used.
struct EntryInfo {
  std::string place;  // where in the program it begins: "demo.kiln:2"
  std::vector<std::string> guards;
  std::int64_t hits = 0;
  std::int64_t code_bytes = 0;  // of its kernels
  jit::Graph graph;             // as captured
};
// The entries in the order in which they are tried. For `none`: those of loops at top level.
std::vector<EntryInfo> entries_of(Interpreter& interpreter, const Value& function);

struct Recompile {
  std::string guard;  // what did not hold
  std::string was;
  std::string now;
};
// Why a loop that runs as a flow graph left it, or its gradients did, and how often.
struct LoopExit {
  std::string reason;
  std::int64_t count = 0;
};
// A loop that is compiled by iterations, or as a whole, instead of being unrolled in the code around it.
struct HotLoop {
  std::string place;            // "demo.kiln:2"
  std::int64_t iterations = 0;  // in a flow graph also those of loops within it
  std::int64_t entries = 0;
  std::int64_t code_bytes = 0;  // of their kernels
  std::int64_t flow_bytes = 0;  // of code of flow graphs
  bool by_trips = true;         // it has entries for iterations, or may get some
  bool was_left = false;        // it is left to the interpreter for good, which counts no more iterations
  std::vector<std::string> forms{};  // in which it runs as a flow graph: "machine code"
  std::int64_t runs = 0;             // of flow graphs
  std::vector<LoopExit> exits{};     // of flow graphs
  std::int64_t kept_bytes = 0;       // for backward, by those that record gradients
  std::int64_t kept_iterations = 0;  // of these
  std::vector<LoopExit> op_by_op{};  // why these went back op by op on the tape, and how often
  bool is_pending = false;           // machine code of a flow graph is being made
  std::string no_flow{};  // why it runs as no flow graph, or not for other types; empty: none is known
};
// A loop that runs as a flow graph, with what must hold for it.
struct FlowInfo {
  std::string place;  // "demo.kiln:2"
  std::string form;
  std::vector<std::string> guards;
  std::int64_t runs = 0;
  std::int64_t trips = 0;  // of all loops of the graph
  std::int64_t code_bytes = 0;
  std::string text;  // of the graph
};
// Of the loops of a function, in the order in which they are tried; for `none`, of those at top level.
std::vector<FlowInfo> flows_of(Interpreter& interpreter, const Value& function);

struct CompileInfo {
  std::int64_t entries = 0;
  std::int64_t graphs = 0;
  std::int64_t compiles = 0;
  std::int64_t hits = 0;
  std::vector<GraphBreak> breaks;
  std::vector<Recompile> recompiles;
  std::vector<std::string> notes;  // on how entries run, in words
  std::vector<HotLoop> loops;
};
// For `none`: of the code outside of functions, which is its loops.
CompileInfo compile_info_of(Interpreter& interpreter, const Value& function);

struct HotFunction {
  std::string name;
  std::string place;
  std::int64_t calls = 0;  // of a loop: its iterations
  bool is_loop = false;
  std::int64_t code_bytes = 0;  // of its kernels
  std::string outcome;          // "compiled, 2 entries", "not compiled: it prints"
};
// Functions and loops that became hot, those with the most calls or iterations first.
std::vector<HotFunction> hot_functions(Interpreter& interpreter);

// Why a function was not compiled, was compiled again, or breaks: plain sentences, one a line.
std::string why(Interpreter& interpreter, const Value& function);

// Whether code is compiled, and entries are used. True at the start.
bool compiling();
void set_compiling(bool on);
// Drops the entries of a function; for `none`, all entries. The code is captured again, or must become hot
// again.
void reset_compiled(Interpreter& interpreter, const Value& function);

// Whether every compiled call runs beside the interpreter, and how many differences were told of
// (capture/check.h).
bool checking();
void set_checking(bool on);
std::int64_t differences_found();

}  // namespace kiln::interp
