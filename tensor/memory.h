// Owns the host's allocator under buffers and small objects: per-thread free lists, a bounded cache of large
// blocks, and the counts of what is live.
#pragma once

#include <cstddef>
#include <string>

#include "tensor/device_memory.h"

namespace kiln::memory {

// The CPU as a device. Small blocks come from a free list of the thread.
extern const DeviceMemory kOfHost;

// Blocks are 64-byte aligned. `bytes` is what the caller will give back to `give_block`.
// Throws OpError (OutOfMemory).
void* take_block(std::size_t bytes);
void give_block(void* block, std::size_t bytes);

// Fixed-size objects of the tensor room, from a per-thread free list.
enum class Pool : unsigned char { Tensor, Storage, Buffer, AutogradMeta, Node };
inline constexpr std::size_t kPools = 5;
void* take_object(Pool pool, std::size_t bytes);
void give_object(Pool pool, void* object);

std::string readable(std::size_t bytes);  // "12.5 MiB"
// Throws OpError (OutOfMemory): so much was asked for, so much is in use.
[[noreturn]] void refuse_memory(std::size_t bytes, const MemoryUse& use, std::size_t limit);
// What this thread's buffers have taken so far, of all devices, whether they live or not: cheap to ask often.
inline constinit thread_local std::size_t bytes_taken = 0;

}  // namespace kiln::memory
