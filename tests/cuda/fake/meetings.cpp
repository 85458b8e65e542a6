// Threads that wait for each other: all of a block at a barrier, or lanes of a warp.
#include <bit>

#include "tensor/cuda/api_types.h"
#include "tests/cuda/fake/block.h"

namespace kiln::fake {

int BlockRunner::block_barrier(int line, KilnFakeFold fold, bool value) {
  lines_[current_] = line;
  if (at_barrier_++ == 0) {
    fold_ = fold;
    folded_ = 0;
  }
  if (value) ++folded_;
  states_[current_] = State::AtBarrier;
  if (!release_barrier()) leave_for_others();
  return fold_result_;
}

// Where all that are alive have come.
bool BlockRunner::release_barrier() {
  if (at_barrier_ < alive_ || at_barrier_ == 0) return false;
  int line = 0;
  unsigned first = 0;
  for (unsigned thread = 0; thread < count_; ++thread) {
    if (states_[thread] != State::AtBarrier) continue;
    if (line == 0) {
      line = lines_[thread];
      first = thread;
    } else if (lines_[thread] != line) {
      note(cuda::kLaunchFailed, "thread " + text_of(indices_[first]) + " waits at the barrier in line " +
                                    std::to_string(line) + ", thread " + text_of(indices_[thread]) +
                                    " at that in line " + std::to_string(lines_[thread]));
      leave();
    }
    make_ready(thread);
  }
  const auto all = static_cast<int>(at_barrier_);
  fold_result_ = fold_ == kFakeCount ? folded_ : (fold_ == kFakeAll ? folded_ == all : folded_ > 0) ? 1 : 0;
  at_barrier_ = 0;
  if (is_checked_) checker_.clock().meet_block();
  return true;
}

void BlockRunner::together(KilnFakeLane& lane) {
  const unsigned own = current_;
  Warp& warp = warps_[own / kLanes];
  lines_[own] = lane.line;
  if (((lane.mask >> own % kLanes) & 1U) == 0) {
    note(cuda::kLaunchFailed,
         "line " + std::to_string(lane.line) + ": the mask does not name the lane itself");
    leave();
  }
  warp.lanes[own % kLanes] = &lane;
  warp.waiting |= 1U << own % kLanes;
  states_[own] = State::InWarp;
  advance_warp(own);
  if (states_[own] == State::InWarp) leave_for_others();
}

// Lets lanes go on once all that they wait for have come.
void BlockRunner::advance_warp(unsigned own) {
  Warp& warp = warps_[own / kLanes];
  const std::uint32_t done = complete_with(warp, own % kLanes);
  if (done == 0) return;
  if (const std::string problem = problem_of(warp, done); !problem.empty())
    note(cuda::kLaunchFailed, problem);
  if (failure_.error != 0) leave();
  exchange(warp, done);
  if (is_checked_) checker_.clock().meet_warp(own / kLanes, done, warp.alive);
  warp.waiting &= ~done;
  for (std::uint32_t left = done; left != 0; left &= left - 1)
    make_ready(own / kLanes * kLanes + static_cast<unsigned>(std::countr_zero(left)));
}

void BlockRunner::tell_stuck() {
  std::string text = "threads wait for each other: ";
  int told = 0, last = 0;
  for (unsigned thread = 0; thread < count_ && told < 4; ++thread) {
    const bool is_in_warp = states_[thread] == State::InWarp;
    if ((!is_in_warp && states_[thread] != State::AtBarrier) || lines_[thread] == last) continue;
    last = lines_[thread];
    text += (told++ == 0 ? "" : ", ") + text_of(indices_[thread]) +
            (is_in_warp ? " for lanes of its warp in line " : " at the barrier in line ") +
            std::to_string(last);
  }
  failure_ = {cuda::kLaunchFailed, where(current_) + ": " + text};
}

}  // namespace kiln::fake
