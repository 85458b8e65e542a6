// Owns which accesses of a launch are ordered by what threads of CUDA wait for: barriers of blocks, what
// lanes of a warp do together, and atomic operations behind fences.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace kiln::fake {

// A moment of the clock, which goes on each time that threads meet. Accesses between two such moments have
// the same one.
using Stamp = std::uint32_t;

class SyncClock {
 public:
  static constexpr Stamp kMost = (Stamp{1} << 30) - 1;

  Stamp now() const { return now_; }
  // Must it begin anew before the next launch? Moments that are kept elsewhere count no more then.
  bool is_late() const { return now_ > kMost / 2; }
  void begin_anew() { now_ = 0; }

  void begin_launch(unsigned threads);
  void begin_block();
  void meet_block();
  void meet_warp(unsigned warp, std::uint32_t lanes, std::uint32_t alive);
  // What threads knew when they met the one that has a fence counts as before it, too.
  void fence(unsigned thread);
  // An atomic operation comes after those on the same word, and after what came before a fence there.
  void order_atomic(unsigned thread, std::uint64_t word);

  bool is_of_launch(Stamp stamp) const { return stamp >= launch_; }
  bool is_of_block(Stamp stamp) const { return stamp >= block_; }
  // Comes an access of this launch before all that `thread` does now? `by` is the thread of its block that
  // made it.
  bool is_ordered(Stamp stamp, unsigned by, unsigned thread) const;

 private:
  static constexpr unsigned kLanes = 32;
  using Stamps = std::array<Stamp, kLanes>;
  // What each lane knows of each other one, where some lanes met without the rest.
  struct WarpOrder {
    Stamp all = 0;  // when all of them met last
    bool has_groups = false;
    std::array<Stamps, kLanes> known{};
  };

  void meet_group(WarpOrder& warp, std::uint32_t lanes) const;

  Stamp now_ = 0, launch_ = 0, block_ = 0, barrier_ = 0;
  std::vector<WarpOrder> warps_;
  bool has_fences_ = false;
  std::vector<Stamp> fences_;    // what comes before this is behind a fence of the thread
  std::vector<Stamp> acquired_;  // what came before this is before each thread
  std::unordered_map<std::uint64_t, Stamp> released_;  // by word
};

}  // namespace kiln::fake
