// Owns the algorithms that cublasLt chose, kept beyond the process: each is asked for once for all that
// decides it.
#pragma once

#include <optional>

#include "tensor/cuda/cublaslt.h"

namespace kiln::cuda {

// What cublasLt may work in is as its makers advise for the largest cards. It is the same for all cards and
// for as long as the process runs, since the choice of an algorithm depends on it.
inline constexpr std::uint64_t kMostWorkspace = std::uint64_t{32} << 20;

// Where code of cards is kept (tensor/cuda/program.h): what was chosen for such a product on such a card, by
// the same version of the library. It may be of no use to the library: ask it before.
std::optional<MatmulHeuristic> kept_choice(const Context& context, const CublasProduct& product);
void keep_choice(const Context& context, const CublasProduct& product, const MatmulHeuristic& choice);

}  // namespace kiln::cuda
