// Owns the allocator under buffers and small objects: per-thread free lists, a bounded cache of large blocks,
// and the counts of what is live.
#pragma once

#include <cstddef>

#include "tensor/device.h"

namespace kiln::memory {

// Blocks are 64-byte aligned. `bytes` is what the caller will give back to `release_block`.
// Throws OpError (OutOfMemory).
void* take_block(std::size_t bytes);
void give_block(void* block, std::size_t bytes);

// Fixed-size objects of the tensor room, from a per-thread free list.
enum class Pool : unsigned char { Tensor, Storage, AutogradMeta, Node };
inline constexpr std::size_t kPools = 4;
void* take_object(Pool pool, std::size_t bytes);
void give_object(Pool pool, void* object);

// Counts a buffer of `bytes`. Checks the limit; throws OpError (OutOfMemory) without counting.
void count_buffer(std::size_t bytes);
void uncount_buffer(std::size_t bytes);
// What this thread's buffers have taken so far, whether they live or not: cheap to ask often.
inline constinit thread_local std::size_t bytes_taken = 0;

}  // namespace kiln::memory
