// Owns running the threads of one block after the other, on one thread of the host: a thread that waits for
// others leaves its stack, and one that has ended leaves it to the next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda/fake/accesses.h"
#include "tests/cuda/fake/call.h"
#include "tests/cuda/fake/random.h"
#include "tests/cuda/fake/shim/abi.h"
#include "tests/cuda/fake/stacks.h"
#include "tests/cuda/fake/warp.h"

namespace kiln::fake {

class BlockRunner {
 public:
  BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  // Begins a grid. The order of threads is plain for seed 0, and drawn for others.
  void begin(const Call& call, std::uint64_t seed);
  // False where the block failed.
  bool run(KilnFakeIndex block);
  const Failure& failure() const { return failure_; }

  // Notes what went wrong in the thread that runs, which then leaves.
  void note(int error, const std::string& what);
  // Gives up the block, on the stack of a thread or another one.
  [[noreturn]] void leave();

  // What kernels call.
  bool next_thread();
  int block_barrier(int line, KilnFakeFold fold, bool value);
  void together(KilnFakeLane& lane);
  void access(const void* place, std::size_t bytes, KilnFakeAccess kind, const void* code);
  void fence() { checker_.clock().fence(current_); }
  [[noreturn]] void stop(int line, const char* assertion);
  void run_threads();  // the body of each stack

 private:
  enum class State : std::uint8_t { New, Running, Ready, AtBarrier, InWarp, Ended };

  void enter(unsigned thread);
  void start_next();
  void leave_for_others();
  void make_ready(unsigned thread);
  bool may_start();
  StackPlace next_place();
  unsigned take_ready();
  void end_thread();
  bool release_barrier();
  void advance_warp(unsigned own);
  std::string where(unsigned thread) const;
  void tell_stuck();

  Call call_;
  Random random_{0};
  bool is_drawn_ = false;
  unsigned count_ = 0;  // threads of a block
  Stacks stacks_;
  AccessChecker checker_;
  bool is_checked_ = false;  // is each access looked at?
  StackPlace main_ = nullptr;
  std::vector<unsigned> order_, ready_;
  std::vector<int> stack_of_;
  std::size_t first_ready_ = 0, started_ = 0;
  std::vector<State> states_;
  std::vector<KilnFakeIndex> indices_;
  std::vector<int> lines_;
  std::vector<Warp> warps_;
  unsigned current_ = 0, alive_ = 0, at_barrier_ = 0;
  KilnFakeFold fold_ = kFakeNoFold;
  int folded_ = 0, fold_result_ = 0;
  Failure failure_;
};

}  // namespace kiln::fake
