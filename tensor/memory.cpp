#include "tensor/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tensor/error.h"
#include "tensor/integers.h"

namespace kiln::memory {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCaching = false;  // a sanitizer must see every block come and go
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kCaching = false;
#else
constexpr bool kCaching = true;
#endif
#else
constexpr bool kCaching = true;
#endif

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kSmallLimit = std::size_t{32} << 10;
constexpr std::size_t kSmallKeptBytes = std::size_t{1} << 20;  // per class and thread
constexpr std::size_t kLargeKeptBytes = std::size_t{512} << 20;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Four classes per doubling: at most a quarter of a block is unused.
constexpr std::size_t kClassesPerDoubling = 4;
constexpr std::size_t kSmallClasses = 40;

constexpr std::size_t class_of(std::size_t bytes) {
  const std::size_t lines = ceil_divide(bytes, kAlignment);
  if (lines <= kClassesPerDoubling) return lines;
  const auto doubling = static_cast<std::size_t>(std::bit_width(lines - 1)) - 1;  // 2^d < lines <= 2^(d+1)
  const std::size_t quarter = std::size_t{1} << (doubling - 2);
  const std::size_t step = ceil_divide(lines - (std::size_t{1} << doubling), quarter);
  return (doubling - 1) * kClassesPerDoubling + step;
}
constexpr std::size_t class_bytes(std::size_t size_class) {
  if (size_class <= kClassesPerDoubling) return std::max<std::size_t>(size_class, 1) * kAlignment;
  const std::size_t doubling = (size_class - 1) / kClassesPerDoubling + 1;
  const std::size_t step = (size_class - 1) % kClassesPerDoubling + 1;
  return ((std::size_t{1} << doubling) + (step << (doubling - 2))) * kAlignment;
}
static_assert(class_bytes(class_of(64)) == 64 && class_bytes(class_of(257)) == 320);
static_assert(class_bytes(class_of(512)) == 512 && class_bytes(class_of(513)) == 640);
static_assert(class_of(kSmallLimit) < kSmallClasses);

struct FreeNode {
  FreeNode* next;
};

struct FreeList {
  FreeNode* head = nullptr;
  std::uint32_t count = 0;

  void* pop() {
    FreeNode* node = head;
    if (node == nullptr) return nullptr;
    head = node->next;
    --count;
    return node;
  }
  void push(void* block) {
    auto* node = static_cast<FreeNode*>(block);
    node->next = head;
    head = node;
    ++count;
  }
};

// Written by its thread only, read by any: plain loads and stores, no locked instructions.
class Tally {
 public:
  void add(std::int64_t amount) { value_.store(get() + amount, std::memory_order_relaxed); }
  void set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  std::int64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

// What one thread keeps. `live` may go below zero: blocks are freed where they are last used.
struct Heap {
  std::array<FreeList, kSmallClasses> blocks;
  std::array<FreeList, kPools> objects;
  Tally live_bytes, live_buffers;
  Tally high_bytes;  // most of `live_bytes` since the peak was last folded into the process's
};

std::size_t physical_memory() {
  auto bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::FILE* file = std::fopen(path, "r");
    if (file == nullptr) continue;
    unsigned long long limit = 0;
    if (std::fscanf(file, "%llu", &limit) == 1) bytes = std::min<std::size_t>(bytes, limit);
    std::fclose(file);
  }
  return bytes;
}

// What all threads share. Never destroyed: tensors in static variables end after everything else.
struct Process {
  std::mutex mutex;
  std::vector<Heap*> heaps;
  std::int64_t retired_bytes = 0, retired_buffers = 0;  // of threads that ended
  std::int64_t peak_bytes = 0;
  std::atomic<std::size_t> limit{physical_memory()};
  std::map<std::size_t, std::vector<void*>> large;  // by class
  std::size_t large_kept = 0;
};
Process& process() {
  static auto* const shared = new Process;
  return *shared;
}

thread_local constinit Heap* this_heap = nullptr;

struct HeapOwner {
  ~HeapOwner();
};
thread_local HeapOwner heap_owner;

Heap* new_heap() {
  auto* heap = new Heap;
  Process& shared = process();
  const std::lock_guard lock(shared.mutex);
  shared.heaps.push_back(heap);
  return heap;
}

Heap& heap() {
  if (this_heap == nullptr) [[unlikely]] {
    this_heap = new_heap();
    static_cast<void>(&heap_owner);  // makes its destructor run at the end of the thread
  }
  return *this_heap;
}

std::int64_t live_bytes_locked(const Process& shared) {
  std::int64_t live = shared.retired_bytes;
  for (const Heap* heap : shared.heaps) live += heap->live_bytes.get();
  return live;
}

// The peak of one thread is exact; those of several at once are added as if they had met.
std::int64_t peak_bytes_locked(const Process& shared) {
  std::int64_t high = shared.retired_bytes;
  for (const Heap* heap : shared.heaps) high += heap->high_bytes.get();
  return std::max(high, shared.peak_bytes);
}

// The heap of a thread that ends is emptied. What is freed later, by other thread-local or static objects,
// makes a new one that lives on.
HeapOwner::~HeapOwner() {
  Heap* const ended = std::exchange(this_heap, nullptr);
  if (ended == nullptr) return;
  for (FreeList& list : ended->blocks) {
    while (void* block = list.pop()) std::free(block);
  }
  for (FreeList& list : ended->objects) {
    while (void* object = list.pop()) std::free(object);
  }
  Process& shared = process();
  const std::lock_guard lock(shared.mutex);
  shared.peak_bytes = peak_bytes_locked(shared);
  std::erase(shared.heaps, ended);
  shared.retired_bytes += ended->live_bytes.get();
  shared.retired_buffers += ended->live_buffers.get();
  delete ended;
}

}  // namespace

std::string readable(std::size_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < std::size(kUnits)) amount /= 1024, ++unit;
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", amount, kUnits[unit]);
  return text.data();
}

void refuse_memory(std::size_t bytes, const MemoryUse& use, std::size_t limit) {
  throw OpError(ErrorKind::OutOfMemory, "cannot allocate " + readable(bytes) + ": " +
                                            readable(use.live_bytes) + " in " +
                                            std::to_string(use.live_buffers) +
                                            " tensors are in use, the limit is " + readable(limit));
}

namespace {

MemoryUse use_of_host() {
  Process& shared = process();
  const std::lock_guard lock(shared.mutex);
  std::int64_t buffers = shared.retired_buffers;
  for (const Heap* heap : shared.heaps) buffers += heap->live_buffers.get();
  return {static_cast<std::size_t>(live_bytes_locked(shared)),
          static_cast<std::size_t>(peak_bytes_locked(shared)), static_cast<std::size_t>(buffers)};
}

[[noreturn]] void out_of_memory(std::size_t bytes) {
  refuse_memory(bytes, use_of_host(), process().limit.load(std::memory_order_relaxed));
}

void drop_large_blocks() {
  Process& shared = process();
  const std::lock_guard lock(shared.mutex);
  for (auto& [size_class, blocks] : shared.large) {
    for (void* block : blocks) std::free(block);
    blocks.clear();
  }
  shared.large_kept = 0;
}

// Large blocks ask for huge pages: reads at computed places would wait for the page table more than for
// memory.
void* aligned_block(std::size_t bytes) {
  const bool huge = bytes >= kHugePage;
  void* block = nullptr;
  if (posix_memalign(&block, huge ? kHugePage : kAlignment, bytes) != 0) return nullptr;
  if (huge) madvise(block, bytes, MADV_HUGEPAGE);  // a wish: its failure changes nothing
  return block;
}

void* from_system(std::size_t bytes) {
  void* block = aligned_block(bytes);
  if (block != nullptr) return block;
  drop_large_blocks();
  block = aligned_block(bytes);
  if (block == nullptr) out_of_memory(bytes);
  return block;
}

void* take_large(std::size_t bytes, std::size_t size_class) {
  if (kCaching) {
    Process& shared = process();
    const std::lock_guard lock(shared.mutex);
    const auto found = shared.large.find(size_class);
    if (found != shared.large.end() && !found->second.empty()) {
      void* block = found->second.back();
      found->second.pop_back();
      shared.large_kept -= bytes;
      return block;
    }
  }
  return from_system(bytes);
}

void give_large(void* block, std::size_t bytes, std::size_t size_class) {
  if (kCaching) {
    Process& shared = process();
    const std::lock_guard lock(shared.mutex);
    if (shared.large_kept + bytes <= kLargeKeptBytes) {
      shared.large[size_class].push_back(block);
      shared.large_kept += bytes;
      return;
    }
  }
  std::free(block);
}

}  // namespace

void* take_block(std::size_t bytes) {
  const std::size_t size_class = class_of(bytes);
  if (bytes > kSmallLimit) return take_large(class_bytes(size_class), size_class);
  if (void* block = heap().blocks[size_class].pop()) return block;
  return from_system(class_bytes(size_class));
}

void give_block(void* block, std::size_t bytes) {
  const std::size_t size_class = class_of(bytes);
  if (bytes > kSmallLimit) return give_large(block, class_bytes(size_class), size_class);
  FreeList& list = heap().blocks[size_class];
  if (!kCaching || list.count * class_bytes(size_class) >= kSmallKeptBytes) return std::free(block);
  list.push(block);
}

void* take_object(Pool pool, std::size_t bytes) {
  if (void* object = heap().objects[static_cast<std::size_t>(pool)].pop()) return object;
  return from_system(round_up(bytes, kAlignment));
}

void give_object(Pool pool, void* object) {
  FreeList& list = heap().objects[static_cast<std::size_t>(pool)];
  constexpr std::uint32_t kKeptObjects = 4096;
  if (!kCaching || list.count >= kKeptObjects) return std::free(object);
  list.push(object);
}

namespace {

// Checks the limit; throws OpError (OutOfMemory) without counting.
void count_buffer(std::size_t bytes) {
  if (bytes > kSmallLimit) {
    Process& shared = process();
    bool fits;
    {
      const std::lock_guard lock(shared.mutex);
      const auto live = static_cast<std::size_t>(std::max<std::int64_t>(live_bytes_locked(shared), 0));
      const std::size_t limit = shared.limit.load(std::memory_order_relaxed);
      fits = bytes <= limit && live <= limit - bytes;
    }
    if (!fits) out_of_memory(bytes);
  }
  Heap& mine = heap();
  mine.live_bytes.add(static_cast<std::int64_t>(bytes));
  mine.live_buffers.add(1);
  bytes_taken += bytes;
  if (mine.live_bytes.get() > mine.high_bytes.get()) mine.high_bytes.set(mine.live_bytes.get());
}

void uncount_buffer(std::size_t bytes) {
  Heap& mine = heap();
  mine.live_bytes.add(-static_cast<std::int64_t>(bytes));
  mine.live_buffers.add(-1);
}

std::byte* allocate(Device, std::size_t bytes) {
  count_buffer(bytes);
  try {
    return static_cast<std::byte*>(take_block(bytes));
  } catch (...) {
    uncount_buffer(bytes);
    throw;
  }
}

void free_data(Device, std::byte* data, std::size_t bytes) {
  uncount_buffer(bytes);
  give_block(data, bytes);
}

void copy(DevicePlace to, DevicePlace from, std::size_t bytes) { std::memcpy(to.data, from.data, bytes); }

std::size_t live_bytes_of_host() { return use_of_host().live_bytes; }

void reset_peak_of_host(Device) {
  Process& shared = process();
  const std::lock_guard lock(shared.mutex);
  shared.peak_bytes = 0;
  for (Heap* heap : shared.heaps) heap->high_bytes.set(heap->live_bytes.get());
}

void set_limit(Device, std::size_t bytes) { process().limit.store(bytes, std::memory_order_relaxed); }

}  // namespace

const DeviceMemory kOfHost{.allocate = allocate,
                           .free = free_data,
                           .copy = copy,
                           .use = [](Device) { return use_of_host(); },
                           .live_bytes = live_bytes_of_host,
                           .reset_peak = reset_peak_of_host,
                           .set_limit = set_limit,
                           .details = [](Device) { return std::string(); }};

}  // namespace kiln::memory
