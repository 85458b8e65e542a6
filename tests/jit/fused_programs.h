// Owns random functional programs for tests of compiled kernels, and arguments for them.
#pragma once

#include <optional>
#include <vector>

#include "jit/pipeline/fused.h"

namespace kiln::testing {

inline constexpr DType kDTypes[] = {DType::Bool, DType::U8,  DType::I8,   DType::I16, DType::I32,
                                    DType::I64,  DType::F16, DType::BF16, DType::F32, DType::F64};

// Defaults for the attributes of an op, and something made of `number` for those that have none.
std::vector<Attr> some_attrs(const Op& op, std::int64_t number);

// Elementwise rows, conversions, views and writes into parts, over inputs of sizes m and n that broadcast.
jit::Graph elementwise_program(unsigned seed);
// Awkward values in layouts that are contiguous, step, or run backwards.
std::vector<Tensor> arguments_for(const jit::Graph& graph, const jit::FusedGraph& fused,
                                  const SymbolValues& symbols, unsigned seed);

// Elementwise ops over rows of size m, reductions of them, and ops on what those give. With rows of any
// length, or of that one.
jit::Graph row_program(unsigned seed, std::optional<Dim> length = std::nullopt);
// Numbers that reductions of all kinds can take, some of them in layouts that run backwards.
std::vector<Tensor> noise_for(const jit::Graph& graph, const SymbolValues& symbols, unsigned seed);

}  // namespace kiln::testing
