// Owns a step of training on several ranks whose gradients are the same to the bit in every job of as many
// ranks.
#pragma once

#include <string>

#include "dist/controller/controller.h"

namespace kiln::testing {

/// The gradients of this rank's batch, summed over ranks, as a hash of their bits. They are submitted in an
/// order and with pauses that are random by `order` and different on each rank.
std::string hash_of_step(dist::Controller& ranks, int rank, unsigned order);

/// The hash that each of so many orders gives. Throws std::runtime_error where they differ.
std::string hash_of_orders(dist::Controller& ranks, int rank, unsigned orders);

}  // namespace kiln::testing
