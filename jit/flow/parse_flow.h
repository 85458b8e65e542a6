// Owns reading flow graphs back from their text.
#pragma once

#include "jit/flow/flow_graph.h"
#include "jit/graph/piece_reader.h"

namespace kiln::jit {

// Reads the flow at which `reader` stands, and goes behind it. What the text does not say is left open: which
// variables inputs were, and what numbers were when the loop was read. Throws OpError (Syntax).
FlowGraph parse_flow(TextReader& reader, const ConstantsByDigest& constants);

}  // namespace kiln::jit
