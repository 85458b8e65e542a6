// Owns what capture tells of itself: the graphs of one call, the entries of a function, and what became of
// it. Natives and the prompt's commands show it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/value.h"
#include "jit/graph.h"
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
  std::vector<std::string> guards;  // what was assumed, in words
  std::string break_reason;         // why it ends where it does; empty at the end of the call
  std::string break_file;           // empty where it is in no text of the program
  int break_line = 0;
  std::vector<Tensor> arguments;  // what the graph was given in the call, as the call left it
  double memory_budget = 1;       // that `jit` was given with the function
  std::vector<Tensor> given;      // the arguments as the call found them, in memory that no write reaches
  Generator generator;            // of random numbers, before the graph ran
  bool taped = true;              // the tape looks on where an argument requires a gradient
  bool differentiated = false;    // gradients are part of the graph
};

// Runs `function` once with these arguments, capturing what it does; nothing that was compiled before is
// used, and nothing is kept. Throws what the call throws.
std::vector<CapturedGraph> capture_call(Interpreter& interpreter, const Value& function,
                                        std::span<const Value> positional,
                                        std::span<const std::pair<std::string_view, Value>> named);

// A compiled graph, with what must hold for it to be used.
struct EntryInfo {
  std::string place;  // where in the program it begins: "demo.kiln:2"
  std::vector<std::string> guards;
  std::int64_t hits = 0;
  std::int64_t code_bytes = 0;  // of its kernels
  jit::Graph graph;             // as captured
};
// In the order in which they are tried. Of none: of the loops at top level.
std::vector<EntryInfo> entries_of(Interpreter& interpreter, const Value& function);

struct Recompile {
  std::string guard;  // what did not hold
  std::string was;
  std::string now;
};
// A loop that is compiled by iterations, instead of being unrolled in what is around it.
struct HotLoop {
  std::string place;  // "demo.kiln:2"
  std::int64_t iterations = 0;
  std::int64_t entries = 0;
  std::int64_t code_bytes = 0;  // of their kernels
  bool was_left = false;        // to the interpreter, for good: more iterations are not counted
};
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
// Of none: what became of the program outside of functions, which is its loops.
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

// Whether anything is compiled, and what was is used: it is from the start.
bool compiling();
void set_compiling(bool on);
// Forgets what was compiled of a function, of none all that was: it begins anew, or must become hot again.
void reset_compiled(Interpreter& interpreter, const Value& function);

// Whether every compiled call runs beside the interpreter, and how many differences were told of
// (capture/check.h).
bool checking();
void set_checking(bool on);
std::int64_t differences_found();

}  // namespace kiln::interp
