#include "tests/cuda/fake/device_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tests/cuda/fake/device_access.h"
#include "tests/cuda/fake/settings.h"

namespace kiln::fake {
namespace {

using cuda::Address;

constexpr std::size_t kAlignment = 512;  // of what the driver allocates
constexpr std::size_t kRedZone = 64;     // bytes before and behind a block that nobody may write
constexpr std::size_t kStep = std::size_t{64} << 20;
constexpr std::size_t kMuch = std::size_t{16} << 20;  // that is given back to the system
constexpr Address kLargePage = Address{2} << 20;

constexpr unsigned char kNeverWritten = 0xA5, kFreed = 0xDD, kZone = 0x5A;

unsigned char* bytes_at(Address address) { return reinterpret_cast<unsigned char*>(address); }

bool holds_only(Address address, std::size_t bytes, unsigned char value) {
  const unsigned char* const at = bytes_at(address);
  return bytes == 0 || (at[0] == value && std::memcmp(at, at + 1, bytes - 1) == 0);
}

std::size_t first_other(Address address, std::size_t bytes, unsigned char value) {
  std::size_t i = 0;
  while (i < bytes && bytes_at(address)[i] == value) ++i;
  return i;
}

// A block with its red zones: the first is what is left of the alignment before it.
std::size_t room_for(std::size_t bytes) {
  return kAlignment + (bytes + kRedZone + kAlignment - 1) / kAlignment * kAlignment;
}

std::string text_of(Address address, std::size_t bytes) {
  char text[80];
  std::snprintf(text, sizeof text, "the block of %zu bytes at %#llx", bytes,
                static_cast<unsigned long long>(address));
  return text;
}

}  // namespace

// ---- Blocks ----------------------------------------------------------------------------------------------

Address DeviceMemory::take_room(std::size_t room) {
  if (const auto place = free_.find(room); place != free_.end() && !place->second.empty()) {
    const Address address = place->second.back();
    place->second.pop_back();
    return address;
  }
  for (std::size_t size = std::size_t{1} << 38; begin_ == 0 && size >= kStep; size /= 4) {
    void* const memory = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) continue;
    // In large pages, of which protection is changed a hundred times as fast.
    begin_ = top_ = open_ = (reinterpret_cast<Address>(memory) + kLargePage - 1) / kLargePage * kLargePage;
    madvise(memory, size, MADV_HUGEPAGE);
    end_ = reinterpret_cast<Address>(memory) + size;
  }
  if (room > end_ - top_) return 0;
  const Address address = top_;
  top_ += room;
  if (top_ > open_) {
    const Address before = std::exchange(open_, begin_ + (top_ - begin_ + kStep - 1) / kStep * kStep);
    open_region(begin_, before, open_);
  }
  return address;
}

Address DeviceMemory::allocate(std::size_t bytes, int device) {
  const std::size_t room = room_for(bytes);
  const Address begin = take_room(room);
  if (begin == 0) return 0;
  const DeviceAccess access;
  const Address address = begin + kAlignment;
  std::memset(bytes_at(address - kRedZone), kZone, kRedZone);
  std::memset(bytes_at(address), kNeverWritten, bytes);
  std::memset(bytes_at(address + bytes), kZone, kRedZone);
  blocks_[address] = {bytes, device, false};
  return address;
}

Block* DeviceMemory::mark_freed(Address address) {
  const auto place = blocks_.find(address);
  if (place == blocks_.end() || place->second.is_freed) return nullptr;
  place->second.is_freed = true;
  return &place->second;
}

namespace {

std::string zone_problem(Address address, std::size_t bytes) {
  if (!holds_only(address - kRedZone, kRedZone, kZone))
    return "memory before " + text_of(address, bytes) + " was written";
  if (holds_only(address + bytes, kRedZone, kZone)) return "";
  return "memory behind " + text_of(address, bytes) + " was written, " +
         std::to_string(first_other(address + bytes, kRedZone, kZone)) + " bytes behind its end";
}

std::string freed_problem(Address address, std::size_t bytes) {
  if (holds_only(address, bytes, kFreed)) return "";
  return text_of(address, bytes) + " was written after it was freed, at byte " +
         std::to_string(first_other(address, bytes, kFreed));
}

}  // namespace

std::string DeviceMemory::release(Address address) {
  const DeviceAccess access;
  const std::size_t bytes = blocks_.at(address).bytes;
  std::string problem = zone_problem(address, bytes);
  std::memset(bytes_at(address), kFreed, bytes);
  blocks_.erase(address);
  quarantine_.push_back({address, bytes, room_for(bytes)});
  quarantined_ += bytes;
  static const auto most = static_cast<std::size_t>(number_setting("KILN_FAKE_QUARANTINE", 16 << 20));
  while (quarantined_ > most) {
    std::string freed = forget_oldest();
    if (problem.empty()) problem = std::move(freed);
  }
  return problem;
}

// Its addresses may be used again.
std::string DeviceMemory::forget_oldest() {
  const Place oldest = quarantine_.front();
  quarantine_.pop_front();
  quarantined_ -= oldest.bytes;
  std::string problem = freed_problem(oldest.address, oldest.bytes);
  const Address first = (oldest.address + kLargePage - 1) / kLargePage * kLargePage,
                last = (oldest.address + oldest.bytes) / kLargePage * kLargePage;
  if (oldest.bytes >= kMuch) madvise(bytes_at(first), last - first, MADV_DONTNEED);
  free_[oldest.room].push_back(oldest.address - kAlignment);
  return problem;
}

const Block* DeviceMemory::find_any(Address address, std::size_t bytes) const {
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  const auto& [begin, block] = *--after;
  const std::size_t offset = address - begin;
  return offset <= block.bytes && bytes <= block.bytes - offset ? &block : nullptr;
}

const Block* DeviceMemory::find(Address address, std::size_t bytes) const {
  const Block* const block = find_any(address, bytes);
  return block != nullptr && !block->is_freed ? block : nullptr;
}

bool DeviceMemory::may_be_used(Address address, std::size_t bytes) const {
  return find_any(address, bytes) != nullptr;
}

std::vector<MemoryRange> DeviceMemory::blocks() const {
  std::vector<MemoryRange> all;
  for (const auto& [address, block] : blocks_)
    all.push_back({address, address + block.bytes, text_of(address, block.bytes)});
  return all;
}

std::string DeviceMemory::freed_at(Address address) const {
  for (const Place& place : quarantine_) {
    if (address - place.address < place.bytes) return text_of(place.address, place.bytes);
  }
  return "";
}

std::string DeviceMemory::check() const {
  const DeviceAccess access;
  for (const auto& [address, block] : blocks_) {
    if (std::string problem = zone_problem(address, block.bytes); !problem.empty()) return problem;
  }
  return "";
}

}  // namespace kiln::fake
