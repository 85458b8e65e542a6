#include "tests/cuda/fake/host_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "tests/cuda/fake/state.h"

namespace kiln::fake {
namespace {

constexpr std::size_t kHostRedZone = 64;
constexpr std::byte kHostNeverWritten{0xA5}, kHostZone{0x5A};

bool is_zone(const std::byte* begin) {
  return std::all_of(begin, begin + kHostRedZone, [](std::byte each) { return each == kHostZone; });
}

}  // namespace

void* allocate_on_host(std::size_t bytes) {
  HostBlock block{bytes,
                  std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[bytes + 2 * kHostRedZone])};
  if (block.memory == nullptr) return nullptr;
  std::byte* const place = block.memory.get() + kHostRedZone;
  std::fill(block.memory.get(), place, kHostZone);
  std::fill(place, place + bytes, kHostNeverWritten);
  std::fill(place + bytes, place + bytes + kHostRedZone, kHostZone);
  state().host_blocks.emplace(address_of(place), std::move(block));
  return place;
}

bool is_block_of_host(const void* place) { return state().host_blocks.contains(address_of(place)); }

Failure release_on_host(void* place) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().host_blocks.find(address_of(place));
  if (found == state().host_blocks.end()) return {kInvalidValue, "freed twice at once"};
  const HostBlock block = std::move(found->second);
  state().host_blocks.erase(found);
  if (is_zone(block.memory.get()) && is_zone(block.memory.get() + kHostRedZone + block.bytes)) return {};
  char text[100];
  std::snprintf(text, sizeof text, "memory around the host's block of %zu bytes at %p was written",
                block.bytes, place);
  return {kLaunchFailed, text};
}

HostPlace host_place(const void* place, std::size_t bytes) {
  const Address address = address_of(place);
  const auto& blocks = state().host_blocks;
  auto after = blocks.upper_bound(address);
  if (after != blocks.end() && after->first < address + bytes) return HostPlace::BeyondBlock;
  if (after == blocks.begin()) return HostPlace::Plain;
  const auto& [begin, block] = *--after;
  if (address >= begin + block.bytes) return HostPlace::Plain;
  return address + bytes <= begin + block.bytes ? HostPlace::Block : HostPlace::BeyondBlock;
}

}  // namespace kiln::fake
