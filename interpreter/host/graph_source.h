// Owns graphs as source of the language: a function that is the graph again.
#pragma once

#include <string>

#include "interpreter/values/graph_value.h"
#include "interpreter/values/objects.h"

namespace kiln::interp::host {

// One function of the graph's name, with a parameter for each tensor that a call gives, and `weights` behind
// them where `source_weights` has any. Throws UserError (ValueError) for a graph of kernels, and for one with
// functions that have derivatives of their own.
std::string graph_source(const GraphValue& graph, const Module& prelude);

}  // namespace kiln::interp::host
