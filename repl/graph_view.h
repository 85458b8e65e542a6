// Owns how graphs look at the prompt: their text, with the lines of the program that nodes come from.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "interpreter/capture/stages.h"
#include "repl/session.h"

namespace kiln::repl {

// The text of a graph, above each run of nodes the line of the program that they come from, as a comment:
// `parse_graph` reads it back.
std::string graph_view(Session& session, const jit::Graph& graph);

// The same for loops and machine code, whose lines end in "demo.kiln:2:9" where they are of the program.
std::string code_view(Session& session, std::string_view text);

// "# break at demo.kiln:3: it reads a tensor's data", with the line; empty where none ends the graph.
std::string break_view(Session& session, const interp::CapturedGraph& captured);

// The file and line at the end of "…, demo.kiln:2:9"; no file where there is none.
std::pair<std::string, int> place_at_end(std::string_view line);

// A line of the program, without blanks around it; empty when it is not known.
std::string source_line(Session& session, const std::string& file, int line);

}  // namespace kiln::repl
