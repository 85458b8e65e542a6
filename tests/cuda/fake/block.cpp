#include "tests/cuda/fake/block.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "tensor/cuda/api_types.h"
#include "tests/cuda/fake/settings.h"

namespace kiln::fake {
namespace {

BlockRunner* running = nullptr;  // the one whose grid runs

const KilnFakeRuntime kRuntime{
    [] { return running->next_thread(); },
    [](int line, KilnFakeFold fold, bool value) { return running->block_barrier(line, fold, value); },
    [](KilnFakeLane* lane) { running->together(*lane); },
    [](int line, const char* assertion) { running->stop(line, assertion); },
    [](const void* place, unsigned long bytes, KilnFakeAccess kind, const void* code) {
      running->access(place, bytes, kind, code);
    },
    [] { running->fence(); },
};

}  // namespace

BlockRunner::BlockRunner() : stacks_([] { running->run_threads(); }) {}

// ---- A grid and its blocks -------------------------------------------------------------------------------

void BlockRunner::begin(const Call& call, std::uint64_t seed) {
  running = this;
  call_ = call;
  random_ = Random(seed);
  is_drawn_ = seed != 0;
  failure_ = {};
  count_ = call.block.x * call.block.y * call.block.z;
  order_.resize(count_);
  std::iota(order_.begin(), order_.end(), 0U);
  stack_of_.resize(count_);
  lines_.resize(count_);
  warps_.resize((count_ + kLanes - 1) / kLanes);
  indices_.resize(count_);
  for (unsigned thread = 0; thread < count_; ++thread) indices_[thread] = index_of(thread, call.block);
  KilnFakePlace& place = *call.library->place;
  place.runtime = kRuntime;
  place.block_dim = call.block;
  place.grid_dim = call.grid;
  is_checked_ = checks_kernels();
  if (is_checked_) checker_.begin_launch(call, stacks_);
}

bool BlockRunner::run(KilnFakeIndex block) {
  call_.library->place->block = block;
  states_.assign(count_, State::New);
  if (is_checked_) checker_.clock().begin_block();
  for (std::size_t warp = 0; warp < warps_.size(); ++warp) {
    const std::size_t lanes = std::min<std::size_t>(kLanes, count_ - warp * kLanes);
    warps_[warp] = Warp{};
    warps_[warp].alive = lanes == kLanes ? ~0U : (1U << lanes) - 1;
  }
  ready_.clear();
  first_ready_ = started_ = 0;
  alive_ = count_;
  at_barrier_ = 0;
  if (is_drawn_) {
    for (unsigned i = count_; i > 1; --i) std::swap(order_[i - 1], order_[random_.below(i)]);
  }
  kiln_fake_switch(&main_, next_place());
  if (alive_ > 0 && failure_.error == 0) tell_stuck();
  if (failure_.error == 0) return true;
  stacks_.reset();
  return false;
}

// Those that are ready go first in plain order: then fewest stacks are in use.
bool BlockRunner::may_start() {
  return first_ready_ == ready_.size() || (is_drawn_ && random_.below(2) == 0);
}

// Where the thread goes on that runs next; the place of the runner itself where no thread is left.
StackPlace BlockRunner::next_place() {
  if (started_ < count_ && may_start()) {
    start_next();
    stack_of_[current_] = stacks_.take();
  } else if (first_ready_ < ready_.size()) {
    enter(take_ready());
  } else {
    return main_;
  }
  return stacks_.place(stack_of_[current_]);
}

unsigned BlockRunner::take_ready() {
  if (is_drawn_) {
    const std::size_t left = ready_.size() - first_ready_;
    std::swap(ready_[first_ready_], ready_[first_ready_ + random_.below(left)]);
  }
  const unsigned thread = ready_[first_ready_++];
  if (first_ready_ == ready_.size()) {
    ready_.clear();
    first_ready_ = 0;
  }
  return thread;
}

void BlockRunner::enter(unsigned thread) {
  current_ = thread;
  states_[thread] = State::Running;
  call_.library->place->thread = indices_[thread];
}

// The thread that completes something goes on at once.
void BlockRunner::make_ready(unsigned thread) {
  states_[thread] = thread == current_ ? State::Running : State::Ready;
  if (thread != current_) ready_.push_back(thread);
}

void BlockRunner::start_next() { enter(order_[started_++]); }

// ---- On the stacks of threads ----------------------------------------------------------------------------

void BlockRunner::run_threads() {
  while (true) {
    const int stack = stack_of_[current_];
    call_.kernel->run(call_.parameters);
    StackPlace& left = stacks_.place(stack);
    const StackPlace to = next_place();
    stacks_.put_back(stack);
    kiln_fake_switch(&left, to);
  }
}

bool BlockRunner::next_thread() {
  end_thread();
  if (started_ == count_ || !may_start()) return false;
  const int stack = stack_of_[current_];
  start_next();
  stack_of_[current_] = stack;
  return true;
}

// Others may have waited for it.
void BlockRunner::end_thread() {
  states_[current_] = State::Ended;
  --alive_;
  Warp& warp = warps_[current_ / kLanes];
  warp.alive &= ~(1U << current_ % kLanes);
  if (at_barrier_ > 0) release_barrier();
  for (unsigned lane = 0; warp.waiting >> lane != 0; ++lane) {
    if (((warp.waiting >> lane) & 1U) != 0) advance_warp(current_ / kLanes * kLanes + lane);
    if (lane == kLanes - 1) break;
  }
}

// From one thread straight to the next: as both leave and come back at the same places, the processor
// foresees where they go on.
void BlockRunner::leave_for_others() {
  StackPlace& left = stacks_.place(stack_of_[current_]);
  kiln_fake_switch(&left, next_place());
}

// ---- Failures --------------------------------------------------------------------------------------------

std::string BlockRunner::where(unsigned thread) const {
  return std::string("kernel ") + call_.kernel->name + ", block " + text_of(call_.library->place->block) +
         ", thread " + text_of(indices_[thread]);
}

void BlockRunner::note(int error, const std::string& what) {
  failure_ = {error, where(current_) + ": " + what};
}

void BlockRunner::access(const void* place, std::size_t bytes, KilnFakeAccess kind, const void* code) {
  if (checker_.look(current_, place, bytes, kind, code)) return;
  note(checker_.problem().error, checker_.problem().text);
  leave();
}

void BlockRunner::leave() {
  StackPlace left = nullptr;
  kiln_fake_switch(&left, main_);
  std::abort();  // this stack is given up
}

void BlockRunner::stop(int line, const char* assertion) {
  if (assertion == nullptr) {
    note(cuda::kLaunchFailed, "line " + std::to_string(line) + ": a trap");
  } else {
    note(cuda::kAssert, "line " + std::to_string(line) + ": assertion `" + assertion + "` failed");
  }
  leave();
}

}  // namespace kiln::fake
