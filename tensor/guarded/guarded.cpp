// One range of addresses holds all memory of the device, so that one call opens or closes it. It is opened
// for all threads: those that help a kernel run only while it does.
#include "tensor/guarded/guarded.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "tensor/error.h"
#include "tensor/integers.h"
#include "tensor/memory.h"

namespace kiln::guarded {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kReserved = std::size_t{1} << 38;  // addresses, not memory
constexpr std::size_t kStep = std::size_t{1} << 20;      // by which the usable part grows

struct Range {
  std::mutex mutex;
  std::byte* begin = nullptr;
  std::size_t used = 0, usable = 0;
  int open = 0;                                         // threads that have it open
  std::map<std::size_t, std::vector<std::byte*>> free;  // by size
  MemoryUse use{};
  std::size_t limit = std::numeric_limits<std::size_t>::max();
};

// Never destroyed: tensors in static variables end after everything else.
Range& range() {
  static auto* const all = new Range;
  return *all;
}

thread_local constinit int depth = 0;  // scopes of this thread within each other

void protect(std::byte* begin, std::size_t bytes, int access) {
  if (bytes > 0 && mprotect(begin, bytes, access) != 0)
    throw InternalError("the memory of the guarded device cannot be protected");
}

void grow(Range& all, std::size_t bytes) {
  if (all.begin == nullptr) {
    void* const found =
        mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED) throw InternalError("the guarded device has no addresses");
    all.begin = static_cast<std::byte*>(found);
  }
  if (all.used + bytes <= all.usable) return;
  const std::size_t more = round_up(all.used + bytes - all.usable, kStep);
  if (all.usable + more > kReserved) memory::refuse_memory(bytes, all.use, kReserved);
  if (all.open > 0) protect(all.begin + all.usable, more, PROT_READ | PROT_WRITE);
  all.usable += more;
}

std::size_t block_bytes(std::size_t bytes) { return std::bit_ceil(std::max(bytes, kAlignment)); }

std::byte* allocate(Device, std::size_t bytes) {
  Range& all = range();
  const std::lock_guard lock(all.mutex);
  if (bytes > all.limit || all.use.live_bytes > all.limit - bytes || bytes > kReserved)
    memory::refuse_memory(bytes, all.use, std::min(all.limit, kReserved));
  const std::size_t size = block_bytes(bytes);
  std::vector<std::byte*>& free = all.free[size];
  std::byte* block = nullptr;
  if (free.empty()) {
    grow(all, size);
    block = all.begin + all.used;
    all.used += size;
  } else {
    block = free.back();
    free.pop_back();
  }
  all.use.live_bytes += bytes;
  all.use.peak_bytes = std::max(all.use.peak_bytes, all.use.live_bytes);
  ++all.use.live_buffers;
  memory::bytes_taken += bytes;
  return block;
}

// Whole pages go back to the system, since opening and closing takes longer the more of them there are.
void give_back(std::byte* block, std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  const auto begin = round_up(reinterpret_cast<std::size_t>(block), kPage);
  const auto end = (reinterpret_cast<std::size_t>(block) + bytes) / kPage * kPage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void free_data(Device, std::byte* data, std::size_t bytes) {
  Range& all = range();
  const std::lock_guard lock(all.mutex);
  give_back(data, block_bytes(bytes));
  all.free[block_bytes(bytes)].push_back(data);
  all.use.live_bytes -= bytes;
  --all.use.live_buffers;
}

void copy(DevicePlace to, DevicePlace from, std::size_t bytes) {
  const Open open;
  std::memcpy(to.data, from.data, bytes);
}

MemoryUse use() {
  Range& all = range();
  const std::lock_guard lock(all.mutex);
  return all.use;
}

void reset_peak(Device) {
  Range& all = range();
  const std::lock_guard lock(all.mutex);
  all.use.peak_bytes = all.use.live_bytes;
}

void set_limit(Device, std::size_t bytes) {
  Range& all = range();
  const std::lock_guard lock(all.mutex);
  all.limit = bytes;
}

}  // namespace

const DeviceMemory kMemory{.allocate = allocate,
                           .free = free_data,
                           .copy = copy,
                           .use = [](Device) { return use(); },
                           .live_bytes = [] { return use().live_bytes; },
                           .reset_peak = guarded::reset_peak,
                           .set_limit = set_limit,
                           .details = [](Device) { return std::string(); }};

bool is_here() {
  const char* const wish = std::getenv("KILN_GUARDED_DEVICE");
  if (wish == nullptr || std::string_view(wish) != "1") return false;
  is_used.store(true, std::memory_order_relaxed);
  return true;
}

bool owns(const void* address) {
  const Range& all = range();  // from a handler of signals: without the lock, which the thread may have
  const auto* const at = static_cast<const std::byte*>(address);
  return all.begin != nullptr && at >= all.begin && at < all.begin + kReserved;
}

void Open::open() {
  if (depth++ > 0) return;
  Range& all = range();
  const std::lock_guard lock(all.mutex);
  if (all.open++ == 0) protect(all.begin, all.usable, PROT_READ | PROT_WRITE);
}

void Open::close() {
  if (--depth > 0) return;
  Range& all = range();
  const std::lock_guard lock(all.mutex);
  if (--all.open == 0) protect(all.begin, all.usable, PROT_NONE);
}

}  // namespace kiln::guarded
