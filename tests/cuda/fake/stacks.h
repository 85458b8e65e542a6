// Owns stacks on which code runs and is left and gone on with, and switching between them.
#pragma once

#include <cstddef>
#include <vector>

namespace kiln::fake {

// Where a stack was left.
using StackPlace = void*;

// Leaves the stack that runs, notes where, and goes on with another one.
extern "C" void kiln_fake_switch(StackPlace* left, StackPlace to);

// Stacks of one size with a page before each that faults. They have one region of addresses; memory is taken
// for those that are used, and kept.
class Stacks {
 public:
  static constexpr std::size_t kMost = 1025;  // a block of threads, and one that has just ended

  explicit Stacks(void (*body)());
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  // A stack that no code is on; it begins or goes on with the body, which calls `put_back` before it leaves.
  int take();
  void put_back(int stack) { free_.push_back(stack); }
  // Is this on one of them?
  bool hold(const void* address) const {
    const auto* const byte = static_cast<const std::byte*>(address);
    return byte >= begin_ && byte < end_;
  }
  StackPlace& place(int stack) { return places_[static_cast<std::size_t>(stack)]; }
  // Gives up what runs on any of them.
  void reset();

 private:
  void start_anew(int stack);

  void (*body_)();
  std::byte *begin_ = nullptr, *end_ = nullptr;
  int made_ = 0;
  std::vector<StackPlace> places_;
  std::vector<int> free_;
};

}  // namespace kiln::fake
