// Owns collectives that move bytes and compute nothing.
#pragma once

#include <cstddef>
#include <span>

#include "dist/algorithms/group.h"

namespace kiln::dist {

/// Leaves in `all` the bytes of each member, one behind the other; `sizes[k]` are those of member k, `mine`
/// this one's. Throws PeerLost and Stopped, as all of these do.
void allgather(const Group& group, std::span<const std::byte> mine, std::span<const std::size_t> sizes,
               std::span<std::byte> all);

/// Gives all members the bytes of member `root`.
void broadcast(const Group& group, std::size_t root, std::span<std::byte> data);

/// Sends member k the next `send_sizes[k]` bytes of `input`, and appends what comes from it,
/// `receive_sizes[k]` bytes, to `output`.
void alltoall(const Group& group, std::span<const std::byte> input, std::span<const std::size_t> send_sizes,
              std::span<std::byte> output, std::span<const std::size_t> receive_sizes);

/// Returns when all members have called it.
void barrier(const Group& group);

}  // namespace kiln::dist
