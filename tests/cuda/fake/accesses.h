// Owns looking at each access of a checked kernel to memory when it is made: is it within memory that kernels
// may use, and does it race with another one?
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/cuda/fake/call.h"
#include "tests/cuda/fake/loaded_code.h"
#include "tests/cuda/fake/races.h"
#include "tests/cuda/fake/stacks.h"

namespace kiln::fake {

class AccessChecker {
 public:
  // The memory that is there when the launch begins.
  void begin_launch(const Call& call, const Stacks& stacks);
  SyncClock& clock() { return races_.clock(); }

  // False where something is wrong, which `problem` then says.
  bool look(unsigned thread, const void* place, std::size_t bytes, KilnFakeAccess kind, const void* code);
  const Failure& problem() const { return problem_; }

 private:
  const MemoryRange* find(cuda::Address address, cuda::Address code);
  bool is_constant(cuda::Address address) const;
  void tell_outside(cuda::Address address, std::size_t bytes, KilnFakeAccess kind, cuda::Address code);
  void tell_race(const Race& race, const MemoryRange& range, KilnFakeAccess kind, cuda::Address code);
  std::string line_of(cuda::Address code) const;

  Call call_;
  const Stacks* stacks_ = nullptr;
  std::vector<MemoryRange> ranges_;  // in order
  std::vector<std::size_t> found_;   // by the instruction, where in `ranges_` its last access was
  RaceDetector races_;
  Failure problem_;
};

}  // namespace kiln::fake
