#include "dist/transport/shared_memory.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <stdexcept>

namespace kiln::dist {
namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free);

// A message of one cache line arrives sooner than a sleep begins.
constexpr std::chrono::microseconds kSpin{20};

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* limit) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, limit, nullptr, 0);
}

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("shared memory of ranks: " + what + ": " + std::strerror(errno));
}

}  // namespace

std::size_t SharedRing::write(std::span<const std::byte> bytes) {
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  const std::uint64_t room = kCapacity - (written - read_.load(std::memory_order_acquire));
  const std::size_t count = std::min<std::size_t>(bytes.size(), room);
  const std::size_t at = written % kCapacity, first = std::min(count, kCapacity - at);
  if (count == 0) return 0;
  std::memcpy(bytes_ + at, bytes.data(), first);
  std::memcpy(bytes_, bytes.data() + first, count - first);
  written_.store(written + count, std::memory_order_release);
  return count;
}

std::size_t SharedRing::read(std::span<std::byte> bytes) {
  const std::size_t count = std::min(bytes.size(), readable());
  const std::uint64_t read = read_.load(std::memory_order_relaxed);
  const std::size_t at = read % kCapacity, first = std::min(count, kCapacity - at);
  if (count == 0) return 0;
  std::memcpy(bytes.data(), bytes_ + at, first);
  std::memcpy(bytes.data() + first, bytes_, count - first);
  read_.store(read + count, std::memory_order_release);
  return count;
}

void SharedSignal::notify() {
  ++events_;
  if (sleepers_.load() > 0) futex(events_, FUTEX_WAKE, INT_MAX, nullptr);
}

void SharedSignal::sleep(std::uint32_t seen, std::chrono::microseconds limit) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  while (Clock::now() - begin < kSpin)
    if (events() != seen) return;
  const timespec time{static_cast<time_t>(limit.count() / 1000000),
                      static_cast<long>(limit.count() % 1000000 * 1000)};
  ++sleepers_;
  futex(events_, FUTEX_WAIT, seen, &time);
  --sleepers_;
}

SharedMemory::SharedMemory(int ranks)
    : ranks_(ranks), descriptor_(static_cast<int>(syscall(SYS_memfd_create, "kiln-ranks", 1U))) {
  if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(size())) != 0) fail("cannot be made");
  map();
}

SharedMemory::SharedMemory(int ranks, const std::string& handle)
    : ranks_(ranks), descriptor_(open(handle.c_str(), O_RDWR | O_CLOEXEC)) {
  if (descriptor_ < 0) fail("cannot open that of rank 0, " + handle);
  map();
}

SharedMemory::~SharedMemory() {
  munmap(memory_, size());
  close(descriptor_);
}

void SharedMemory::map() {
  void* const memory = mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) fail("cannot be mapped");
  memory_ = static_cast<std::byte*>(memory);
}

std::string SharedMemory::handle() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor_);
}

// The signals stand first, then the rings by sender and receiver.
std::size_t SharedMemory::size() const {
  const auto n = static_cast<std::size_t>(ranks_);
  return n * sizeof(SharedSignal) + n * n * sizeof(SharedRing);
}

SharedRing& SharedMemory::ring(int from, int to) const {
  const std::size_t number =
      static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(to);
  std::byte* const first = memory_ + static_cast<std::size_t>(ranks_) * sizeof(SharedSignal);
  return *reinterpret_cast<SharedRing*>(first + number * sizeof(SharedRing));
}

SharedSignal& SharedMemory::signal(int rank) const {
  return *reinterpret_cast<SharedSignal*>(memory_ + static_cast<std::size_t>(rank) * sizeof(SharedSignal));
}

}  // namespace kiln::dist
