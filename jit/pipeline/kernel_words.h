// Owns how people read the lines of kernels: by the names of the program, and by the nodes that they are
// there for. Lines of a pass have the numbers of its loop nest (jit/loops/loops.h).
#pragma once

#include <string>
#include <vector>

#include "jit/loops/kernel_op.h"

namespace kiln::jit {

// The names of the values of the graph that was fused (FusedKernel::source), by value.
using ValueNames = std::vector<std::string>;

// The user's name of a register: of the node that computes it, or the tensor that it is read from; empty for
// others.
std::string register_name(const FusedKernel& kernel, const LoopNest& nest, std::size_t line,
                          const ValueNames& names);
// "%y, demo.kiln:2:9"
std::string about(const FusedKernel& kernel, const LoopNest& nest, std::size_t line, const ValueNames& names);
// "%y = mul(%x, %w) : f32[3], demo.kiln:2:9", or what the line is where it is no node.
std::string heading(const FusedKernel& kernel, std::size_t pass, std::size_t line, const ValueNames& names);
// The nodes of the kernel's source that a line is there for: the one that it computes, those that use what it
// loads, or the one whose value it stores.
std::vector<int> nodes_of(const FusedKernel& kernel, std::size_t pass, std::size_t line);

}  // namespace kiln::jit
