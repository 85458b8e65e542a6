// Owns what tests of compiled kernels share: awkward values, and holding a fused graph to its ops.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "jit/pipeline/fused.h"

namespace kiln::testing {

// Numbers of all sizes, and those that functions treat apart.
Tensor values(const Dims& sizes, DType dtype, int seed);

// With another text in each of these places.
std::string replaced(std::string text, std::string_view what, std::string_view with);
// The graph of a text with T for a dtype: "%x: T[n]".
jit::Graph graph_of(std::string_view text, std::string_view dtype);

// Checks that both give the same bits, or the same error.
void check_same(const jit::Graph& graph, const jit::FusedGraph& fused, Inputs arguments);
void check_same(const jit::Graph& graph, const jit::FusedGraph& fused,
                std::initializer_list<Tensor> arguments);
// Likewise of graphs that draw random numbers: both draw the same ones, and as many.
void check_same_draws(const jit::Graph& graph, const jit::FusedGraph& fused, Inputs arguments);

}  // namespace kiln::testing
