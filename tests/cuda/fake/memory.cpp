// The fake driver: memory of cards and of the host.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "tests/cuda/fake/capture.h"
#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/host_memory.h"
#include "tests/cuda/fake/settings.h"
#include "tests/cuda/fake/state.h"

namespace kiln::cuda {
namespace {

using namespace kiln::fake;

// Is it the allocation that is set to find no memory?
bool fails_now() {
  static const std::int64_t chosen = number_setting("KILN_FAKE_OOM_AT", 0);
  static std::int64_t count = 0;
  return ++count == chosen;
}

Result allocate(Address* address, std::size_t bytes) {
  if (address == nullptr || bytes == 0) return kInvalidValue;
  const int device = current_context()->device;
  FakeCard& card = *card_of(device);
  if (fails_now() || bytes > card.bytes - card.used) return kOutOfMemory;
  const Address found = state().memory.allocate(bytes, device);
  if (found == 0) return kOutOfMemory;  // a card may be set to be larger than the machine
  *address = found;
  card.used += bytes;
  card.most_used = std::max(card.most_used, card.used);
  return kSuccess;
}

// From now on it is no block that can be given to work.
bool mark_freed(Address address) {
  const Block* const block = state().memory.mark_freed(address);
  if (block == nullptr) return false;
  card_of(block->device)->used -= block->bytes;
  return true;
}

Failure release(Address address) {
  const std::lock_guard lock(state().mutex);
  std::string problem = state().memory.release(address);
  return {problem.empty() ? kSuccess : kLaunchFailed, std::move(problem)};
}

template <class Body>
Result use_pool(std::string_view entry, PoolHandle pool, const Body& body) {
  return enter(entry, Needs::Initialized, [&] {
    if (pool == nullptr || card_of(pool->device) == nullptr) return kInvalidValue;
    return static_cast<int>(body(*card_of(pool->device)));
  });
}

std::uint64_t amount_of(const FakeCard& card, int attribute) {
  return attribute == kPoolReserved || attribute == kPoolUsed ? card.used : card.most_used;
}

}  // namespace

extern "C" {

Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return enter("cuMemGetInfo_v2", Needs::Context, [&] {
    if (free == nullptr || total == nullptr) return kInvalidValue;
    const FakeCard& card = *card_of(current_context()->device);
    *free = card.bytes - card.used;
    *total = card.bytes;
    return kSuccess;
  });
}

Result cuMemAlloc_v2(Address* address, std::size_t bytes) {
  return enter("cuMemAlloc_v2", Needs::Context, [&] {
    const Result refused = refuse_unsafe();
    return refused == kSuccess ? allocate(address, bytes) : refused;
  });
}

Result cuMemAllocAsync(Address* address, std::size_t bytes, StreamHandle handle) {
  return enter_stream("cuMemAllocAsync", handle, [&](StreamData& stream) {
    if (stream.capture == nullptr) return allocate(address, bytes);
    tell_missing("cuMemAllocAsync in a capture");
    return kNotSupported;
  });
}

// Waits until no work is left that may use it.
Result cuMemFree_v2(Address address) {
  const Result waited = enter_and_wait("cuMemFree_v2", [&](Moments& moments) {
    if (const Result refused = refuse_unsafe(); refused != kSuccess) return refused;
    if (address != 0 && !mark_freed(address)) return kInvalidValue;
    if (address != 0) moments = ends_of(*current_context());
    return kSuccess;
  });
  if (waited != kSuccess || address == 0) return waited;
  return note(*current_context(), release(address));
}

Result cuMemFreeAsync(Address address, StreamHandle handle) {
  return enter_stream("cuMemFreeAsync", handle, [&](StreamData& stream) {
    // A graph frees what it allocated itself alone.
    if (stream.capture != nullptr || !mark_freed(address)) return kInvalidValue;
    give_now(stream, [address] { return release(address); });
    return kSuccess;
  });
}

// ---- Pools -----------------------------------------------------------------------------------------------

Result cuDeviceGetDefaultMemPool(PoolHandle* pool, int device) {
  return enter("cuDeviceGetDefaultMemPool", Needs::Initialized, [&] {
    if (card_of(device) == nullptr) return kInvalidDevice;
    if (pool == nullptr) return kInvalidValue;
    *pool = &card_of(device)->pool;
    return kSuccess;
  });
}

Result cuMemPoolSetAttribute(PoolHandle pool, int attribute, void* value) {
  return use_pool("cuMemPoolSetAttribute", pool, [&](FakeCard& card) {
    if (value == nullptr || attribute < kPoolReuseFollowsEvents || attribute > kPoolUsedHigh)
      return kInvalidValue;
    if (attribute <= kPoolReuseInternal) {
      card.pool.attributes[attribute] = static_cast<std::uint64_t>(*static_cast<int*>(value));
      return kSuccess;
    }
    if (attribute == kPoolReleaseThreshold) {
      card.pool.attributes[attribute] = *static_cast<std::uint64_t*>(value);
      return kSuccess;
    }
    // The most so far may be set anew, to what is used now.
    if ((attribute != kPoolReservedHigh && attribute != kPoolUsedHigh) ||
        *static_cast<std::uint64_t*>(value) != 0)
      return kInvalidValue;
    card.most_used = card.used;
    return kSuccess;
  });
}

Result cuMemPoolGetAttribute(PoolHandle pool, int attribute, void* value) {
  return use_pool("cuMemPoolGetAttribute", pool, [&](FakeCard& card) {
    if (value == nullptr || attribute < kPoolReuseFollowsEvents || attribute > kPoolUsedHigh)
      return kInvalidValue;
    if (attribute <= kPoolReuseInternal) {
      *static_cast<int*>(value) = static_cast<int>(card.pool.attributes[attribute]);
    } else {
      *static_cast<std::uint64_t*>(value) =
          attribute == kPoolReleaseThreshold ? card.pool.attributes[attribute] : amount_of(card, attribute);
    }
    return kSuccess;
  });
}

Result cuMemPoolTrimTo(PoolHandle pool, std::size_t) {
  return use_pool("cuMemPoolTrimTo", pool, [](FakeCard&) { return kSuccess; });
}

// ---- Memory of the host ----------------------------------------------------------------------------------

Result cuMemHostAlloc(void** place, std::size_t bytes, unsigned) {
  return enter("cuMemHostAlloc", Needs::Context, [&] {
    if (const Result refused = refuse_unsafe(); refused != kSuccess) return refused;
    if (place == nullptr || bytes == 0) return kInvalidValue;
    if (fails_now()) return kOutOfMemory;
    *place = allocate_on_host(bytes);
    return *place == nullptr ? kOutOfMemory : kSuccess;
  });
}

// Waits until no work is left that may use it.
Result cuMemFreeHost(void* place) {
  const Result waited = enter_and_wait("cuMemFreeHost", [&](Moments& moments) {
    if (const Result refused = refuse_unsafe(); refused != kSuccess) return refused;
    if (!is_block_of_host(place)) return kInvalidValue;
    moments = ends_of(*current_context());
    return kSuccess;
  });
  return waited == kSuccess ? note(*current_context(), release_on_host(place)) : waited;
}

}  // extern "C"
}  // namespace kiln::cuda
