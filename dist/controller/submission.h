// Owns what ranks are told of the collectives that a program calls.
#pragma once

#include <cstddef>
#include <span>

#include "dist/controller/signature.h"
#include "tensor/collective.h"

namespace kiln::dist {

/// Of collectives that are one for the ranks. Throws OpError (DType) for what is summed in no way.
Signature signature_of(std::span<const Collective> group);

/// The end of the collectives from `begin` on that are one for the ranks: reductions of one group.
std::size_t end_of_group(std::span<const Collective> all, std::size_t begin);

}  // namespace kiln::dist
