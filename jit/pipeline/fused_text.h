// Owns what a fused graph says of itself: what became one kernel and why the rest did not, loops, machine
// code. Lines carry the names and places of the program.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/graph/graph.h"
#include "jit/loops/code_line.h"
#include "jit/passes/target.h"

namespace kiln::jit {

// The text of loops and code where there are no kernels.
inline constexpr std::string_view kNothingFused = "nothing is fused: every op is a call of its own\n";

// Kernels with their nodes, then a line for each value that goes through memory between two nodes: why. Of a
// functional graph, what fusion would make of it.
CodeLines fusion_lines(const Graph& graph);
// The same as text, with what is done together with other ranks.
std::string fusion_text(const Graph& graph);
// Likewise as sentences: "%a and %b are not one kernel: matmul is a call of a library".
std::vector<std::string> why_not_fused(const Graph& graph);

// Each line with the kernel and the line of its nests that it belongs to, and the nodes of the graph that was
// fused (FusedKernel::source) that it is there for.
CodeLines loops_lines(const Graph& fused);
// The code of its kernels with the same notes on each line. Throws NoCompiler where they cannot be compiled.
CodeLines code_lines(const Graph& fused, Product product, std::optional<Device::Kind> kind = {});
// Bytes of the machine code of all its kernels.
std::size_t code_bytes(const Graph& fused);

}  // namespace kiln::jit
