// Owns internal errors met while a graph is prepared, until the session reports them: passes run on threads
// that must not write.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

struct Fault {
  std::string message;  // what is done instead, and what is wrong
  std::string program;  // that shows it
};
// `graph` is what the passes were given, `wanted` by which of its inputs there are gradients (none: empty),
// `instead` what is done now: "its ops run one by one".
void note_fault(const Graph& graph, const std::vector<bool>& wanted, const std::exception& error,
                const std::string& instead);

// Those that were noted since this was asked last; and is there any, which costs nothing?
std::vector<Fault> take_faults();
bool has_faults();

}  // namespace kiln::jit
