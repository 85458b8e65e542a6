// Owns the memory that the ranks of one host share: a ring of bytes for each pair of them, and a word on
// which each sleeps.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace kiln::dist {

/// Bytes from one process to another. One side writes, the other reads.
class SharedRing {
 public:
  /// Writes as many as there is room for; gives how many.
  std::size_t write(std::span<const std::byte> bytes);
  /// Reads as many as there are; gives how many.
  std::size_t read(std::span<std::byte> bytes);
  std::size_t readable() const {
    return written_.load(std::memory_order_acquire) - read_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kCapacity = std::size_t{1} << 18U;
  alignas(64) std::atomic<std::uint64_t> written_;
  alignas(64) std::atomic<std::uint64_t> read_;
  alignas(64) std::byte bytes_[kCapacity];
};

/// On which a process sleeps until others notify it.
class alignas(64) SharedSignal {
 public:
  std::uint32_t events() const { return events_.load(); }
  void notify();
  /// Sleeps until `events()` is no longer `seen`, or `limit` is over.
  void sleep(std::uint32_t seen, std::chrono::microseconds limit);
  /// The process is gone from the job.
  void close() { is_closed_.store(true); }
  bool is_closed() const { return is_closed_.load(); }

 private:
  std::atomic<std::uint32_t> events_, sleepers_;
  std::atomic<bool> is_closed_;
};

/// One mapping of that memory. New memory holds zeros, with which rings are empty.
class SharedMemory {
 public:
  /// Makes the memory for `ranks` ranks. Throws std::runtime_error.
  explicit SharedMemory(int ranks);
  /// Maps memory of another process by its `handle()`. Throws std::runtime_error.
  SharedMemory(int ranks, const std::string& handle);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// By which other processes of this host find it, while this one lives.
  std::string handle() const;
  SharedRing& ring(int from, int to) const;
  SharedSignal& signal(int rank) const;

 private:
  void map();
  std::size_t size() const;

  int ranks_;
  int descriptor_ = -1;
  std::byte* memory_ = nullptr;
};

}  // namespace kiln::dist
