// Owns the stages of a call as tables of lines, linked by the nodes that they come from.
#pragma once

#include <map>
#include <tuple>

#include "interpreter/host/graph_stages.h"
#include "repl/page/page.h"

namespace kiln::repl {

// The lines of a graph's nodes, by node; -1: it has none.
using NodeLines = std::vector<LineId>;

// What the nodes of a graph come from: nodes of the graph in table `table`, which have these lines.
struct Ancestry {
  int table = -1;
  NodeLines lines{};
};

// A new table behind the others.
PageTable& add_table(CallPage& page, std::string_view stage, std::string title, int parent);

// A graph whose nodes name those that they come from (jit/graph/lineage.h). Gives what is to be known of it
// where others are made from it.
Ancestry add_graph(CallPage& page, std::string_view stage, const std::string& title, const jit::Graph& graph,
                   const Ancestry& from);
// The captured graph, whose nodes come from lines of the program.
Ancestry add_captured(CallPage& page, const std::string& title, const jit::Graph& graph,
                      const Ancestry& source);

// A fused graph; behind it the nodes of each kernel, and why others are not fused. Gives the lines of the
// nodes of the graph that was fused which are in kernels.
Ancestry add_fused(CallPage& page, const std::string& title, const jit::Graph& fused, const Ancestry& from);

// Where the lines of loops are, by kernel, pass and line of its nest.
struct LoopsTable {
  int table = -1;
  std::map<std::tuple<int, int, int>, LineId> lines{};
};
LoopsTable add_loops(CallPage& page, const std::string& title, const jit::CodeLines& lines,
                     const Ancestry& fused);
// What is compiled of loops: LLVM's language, instructions.
void add_code(CallPage& page, std::string_view stage, const std::string& title, const jit::CodeLines& lines,
              const LoopsTable& loops);
// What would be compiled of other kernels of the same graph: its lines come from the nodes that these
// compute.
void add_code_of_nodes(CallPage& page, std::string_view stage, const std::string& title,
                       const jit::CodeLines& lines, const jit::Graph& fused, const Ancestry& from);
// The lines of a program of `graph`, whose nodes name those of `from`.
void add_program(CallPage& page, const std::string& title, const jit::CodeLines& lines,
                 const jit::Graph& graph, const Ancestry& from);

}  // namespace kiln::repl
