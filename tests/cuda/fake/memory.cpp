// The fake driver: memory of cards and of the host, copies and fills. Streams do their work at once.
#include <cstring>
#include <utility>

#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/state.h"

namespace kiln::cuda {
namespace {

using namespace kiln::fake;

std::byte* bytes_at(Address address) { return reinterpret_cast<std::byte*>(address); }

// Work given to a stream.
template <class Body>
Result give(std::string_view entry, StreamHandle stream, const Body& body) {
  return enter(entry, Needs::Context,
               [&] { return is_stream(stream) ? static_cast<int>(body()) : kInvalidHandle; });
}

Result copy_on_cards(Address to, Address from, std::size_t bytes) {
  if (!is_device_memory(to, bytes) || !is_device_memory(from, bytes)) return kInvalidValue;
  std::memmove(bytes_at(to), bytes_at(from), bytes);
  return kSuccess;
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
  return enter("cuMemAlloc_v2", Needs::Context, [&] { return allocate(address, bytes); });
}
Result cuMemFree_v2(Address address) {
  return enter("cuMemFree_v2", Needs::Context, [&] { return release(address); });
}
Result cuMemAllocAsync(Address* address, std::size_t bytes, StreamHandle stream) {
  return give("cuMemAllocAsync", stream, [&] { return allocate(address, bytes); });
}
Result cuMemFreeAsync(Address address, StreamHandle stream) {
  return give("cuMemFreeAsync", stream, [&] { return address == 0 ? kInvalidValue : release(address); });
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
    if (place == nullptr || bytes == 0) return kInvalidValue;
    auto block = std::make_unique<std::byte[]>(bytes);
    *place = block.get();
    state().host_blocks.emplace(*place, std::move(block));
    return kSuccess;
  });
}

Result cuMemFreeHost(void* place) {
  return enter("cuMemFreeHost", Needs::Context,
               [&] { return state().host_blocks.erase(place) == 1 ? kSuccess : kInvalidValue; });
}

// ---- Copies and fills ------------------------------------------------------------------------------------

Result cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, StreamHandle stream) {
  return give("cuMemcpyHtoDAsync_v2", stream, [&] {
    if (from == nullptr || !is_device_memory(to, bytes)) return kInvalidValue;
    std::memcpy(bytes_at(to), from, bytes);
    return kSuccess;
  });
}

Result cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, StreamHandle stream) {
  return give("cuMemcpyDtoHAsync_v2", stream, [&] {
    if (to == nullptr || !is_device_memory(from, bytes)) return kInvalidValue;
    std::memcpy(to, bytes_at(from), bytes);
    return kSuccess;
  });
}

Result cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, StreamHandle stream) {
  return give("cuMemcpyDtoDAsync_v2", stream, [&] { return copy_on_cards(to, from, bytes); });
}

Result cuMemcpyPeerAsync(Address to, ContextHandle to_context, Address from, ContextHandle from_context,
                         std::size_t bytes, StreamHandle stream) {
  return give("cuMemcpyPeerAsync", stream, [&] {
    if (!is_context(to_context) || !is_context(from_context)) return static_cast<int>(kInvalidContext);
    return copy_on_cards(to, from, bytes);
  });
}

Result cuMemsetD8Async(Address to, unsigned char value, std::size_t count, StreamHandle stream) {
  return give("cuMemsetD8Async", stream, [&] {
    if (!is_device_memory(to, count)) return kInvalidValue;
    std::memset(bytes_at(to), value, count);
    return kSuccess;
  });
}

Result cuMemsetD32Async(Address to, unsigned value, std::size_t count, StreamHandle stream) {
  return give("cuMemsetD32Async", stream, [&] {
    constexpr std::size_t kBytes = sizeof(value);
    if (to % kBytes != 0 || count > SIZE_MAX / kBytes || !is_device_memory(to, count * kBytes))
      return kInvalidValue;
    for (std::size_t i = 0; i < count; ++i) std::memcpy(bytes_at(to) + i * kBytes, &value, kBytes);
    return kSuccess;
  });
}

}  // extern "C"
}  // namespace kiln::cuda
