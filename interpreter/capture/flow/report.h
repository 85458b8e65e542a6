// Owns what is told of loops that run as flow graphs.
#pragma once

#include <string>
#include <vector>

#include "interpreter/capture/compiled.h"
#include "interpreter/capture/flow/place.h"
#include "interpreter/capture/stages.h"

namespace kiln::interp::capture {

// Adds to the loop what its flows did.
void add_flows(const FlowPlace& place, HotLoop& loop);
// Adds the loops that are nodes of graphs, each once.
void add_loop_nodes(const Compiled& compiled, std::vector<HotLoop>& loops);
// The flows of a place, in the order in which they are tried.
std::vector<FlowInfo> infos_of(const FlowPlace& place, const std::string& where);
// Sentences on a loop that runs, or does not run, as a flow graph; empty where that was not tried.
std::vector<std::string> flow_sentences(const HotLoop& loop);

}  // namespace kiln::interp::capture
