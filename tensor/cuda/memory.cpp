#include "tensor/cuda/memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tensor/cuda/context.h"
#include "tensor/cuda/staging.h"
#include "tensor/cuda/work.h"
#include "tensor/error.h"
#include "tensor/integers.h"
#include "tensor/memory.h"

namespace kiln::cuda {
namespace {

constexpr std::size_t kSmallest = 512;                    // as the driver aligns
constexpr std::size_t kLargeStep = std::size_t{2} << 20;  // a page of a card
// Tools that look for accesses beyond the end of a block find them where it has just the bytes of a tensor.
bool are_blocks_exact() {
  static const char* const set = std::getenv("KILN_CUDA_EXACT");
  static const bool are = set != nullptr && std::string_view(set) == "1";
  return are;
}

// Sizes that are near each other are one, so that blocks fit again: in four steps between powers of two, and
// by whole pages of the card where they are large.
std::size_t block_bytes(std::size_t bytes) {
  if (are_blocks_exact()) return std::max(bytes, std::size_t{1});
  if (bytes >= kLargeStep) return round_up(bytes, kLargeStep);
  if (bytes <= kSmallest) return kSmallest;
  return round_up(bytes, std::max(kSmallest, std::bit_floor(bytes - 1) / 4));
}

// What a call gives work or memory to is the stream of the card, so a block that is free may be used again by
// the call that comes next: what it is used for is done after what it was used for.
class Heap {
 public:
  std::byte* take(Context& context, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_ || use_.live_bytes > limit_ - bytes) memory::refuse_memory(bytes, use_, limit_);
    std::byte* block = keeps_back(context.device()) ? reused(held_, block_bytes(bytes)) : nullptr;
    if (block == nullptr) block = reused(free_, block_bytes(bytes));
    std::byte* const data = block != nullptr ? block : fresh(context, bytes);
    use_.live_bytes += bytes;
    use_.peak_bytes = std::max(use_.peak_bytes, use_.live_bytes);
    ++use_.live_buffers;
    return data;
  }

  void give(std::byte* data, std::size_t bytes, bool is_keeping) {
    const std::lock_guard lock(mutex_);
    use_.live_bytes -= bytes;
    --use_.live_buffers;
    (is_keeping ? held_ : free_)[block_bytes(bytes)].push_back(data);
    kept_bytes_ += block_bytes(bytes);
  }

  std::size_t trim(Context& context) {
    const std::lock_guard lock(mutex_);
    return trim_locked(context);
  }

  void release_held() {
    const std::lock_guard lock(mutex_);
    release_held_locked();
  }

  // Of a card that is lost: its blocks are no longer there.
  void forget() {
    const std::lock_guard lock(mutex_);
    free_.clear();
    held_.clear();
    kept_bytes_ = 0;
  }

  MemoryUse use() {
    const std::lock_guard lock(mutex_);
    return use_;
  }
  std::size_t kept_bytes() {
    const std::lock_guard lock(mutex_);
    return kept_bytes_;
  }
  void reset_peak() {
    const std::lock_guard lock(mutex_);
    use_.peak_bytes = use_.live_bytes;
  }
  void set_limit(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
  }

 private:
  using Blocks = std::map<std::size_t, std::vector<std::byte*>>;  // by size

  std::byte* reused(Blocks& blocks, std::size_t size) {
    const auto place = blocks.find(size);
    if (place == blocks.end() || place->second.empty()) return nullptr;
    std::byte* const block = place->second.back();
    place->second.pop_back();
    kept_bytes_ -= size;
    return block;
  }

  // Where the driver has no memory left, what is kept goes back to it, and it is asked once more.
  std::byte* fresh(Context& context, std::size_t bytes) {
    Address address = 0;
    Result result = ask(context, address, block_bytes(bytes));
    if (result == kOutOfMemory && trim_locked(context) > 0)
      result = ask(context, address, block_bytes(bytes));
    if (result == kOutOfMemory) memory::refuse_memory(bytes, use_, context.card().bytes);
    context.check("cuMemAllocAsync", result);
    return reinterpret_cast<std::byte*>(address);
  }

  // Another thread may be capturing the stream, where the driver gives no memory.
  static Result ask(Context& context, Address& address, std::size_t size) {
    const std::lock_guard lock(context.capture_mutex());
    return context.has_pools() ? driver_api().cuMemAllocAsync(&address, size, context.stream_itself())
                               : driver_api().cuMemAlloc_v2(&address, size);
  }
  static Result hand_back(Context& context, Address address) {
    const std::lock_guard lock(context.capture_mutex());
    return context.has_pools() ? driver_api().cuMemFreeAsync(address, context.stream())
                               : driver_api().cuMemFree_v2(address);
  }

  void release_held_locked() {
    for (auto& [size, blocks] : held_) {
      std::vector<std::byte*>& free = free_[size];
      free.insert(free.end(), blocks.begin(), blocks.end());
    }
    held_.clear();
  }

  std::size_t trim_locked(Context& context) {
    give_kept_back(context);
    if (keeps_back(context.device())) release_held_locked();
    for (const auto& [size, blocks] : free_) {
      for (std::byte* const each : blocks) context.note(hand_back(context, reinterpret_cast<Address>(each)));
    }
    free_.clear();
    const std::size_t bytes = std::exchange(kept_bytes_, 0);
    if (bytes == 0 || !context.has_pools()) return bytes;
    context.note(driver_api().cuStreamSynchronize(context.stream()));
    PoolHandle pool = nullptr;
    if (driver_api().cuDeviceGetDefaultMemPool(&pool, context.device().index) == kSuccess)
      context.note(driver_api().cuMemPoolTrimTo(pool, 0));
    return bytes;
  }

  std::mutex mutex_;
  Blocks free_;
  Blocks held_;  // by the thread that keeps back work
  std::size_t kept_bytes_ = 0;
  std::size_t limit_ = std::numeric_limits<std::size_t>::max();
  MemoryUse use_{};
};

// Never destroyed: tensors in static variables end after everything else.
std::array<Heap, kMostCards>& heaps() {
  static auto* const all = new std::array<Heap, kMostCards>;
  return *all;
}
Heap& heap_of(Device device) { return heaps().at(static_cast<std::size_t>(device.index)); }

std::byte* allocate(Device device, std::size_t bytes) {
  Context& context = Context::of(device);
  std::byte* const data = heap_of(device).take(context, bytes);
  memory::bytes_taken += bytes;
  return data;
}

void free_data(Device device, std::byte* data, std::size_t bytes) {
  heap_of(device).give(data, bytes, keeps_back(device));
  if (Context::made_for(device) == nullptr) heap_of(device).forget();
}

MemoryUse use(Device device) {
  Context::of(device);
  return heap_of(device).use();
}

std::size_t live_bytes() {
  std::size_t bytes = 0;
  for (Heap& each : heaps()) bytes += each.use().live_bytes;
  return bytes;
}

std::string details(Device device) {
  Context& context = Context::of(device);
  std::size_t free = 0, total = 0;
  context.check("cuMemGetInfo_v2", driver_api().cuMemGetInfo_v2(&free, &total));
  return fmt::format("{} more are kept for reuse; the card has {}, of which {} are free",
                     memory::readable(heap_of(device).kept_bytes()), memory::readable(total),
                     memory::readable(free));
}

}  // namespace

void release_held(Device device) { heap_of(device).release_held(); }

std::size_t trim(Device device) { return heap_of(device).trim(Context::of(device)); }

const DeviceMemory kMemory{
    .allocate = allocate,
    .free = free_data,
    .copy = copy,
    .use = use,
    .live_bytes = live_bytes,
    .reset_peak = [](Device device) { heap_of(device).reset_peak(); },
    .set_limit = [](Device device, std::size_t bytes) { heap_of(device).set_limit(bytes); },
    .details = details};

}  // namespace kiln::cuda
