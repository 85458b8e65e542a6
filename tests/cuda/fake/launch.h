// Owns launches: what the driver refuses, what it says of a function, and a launch's own copy of the
// parameters.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/cuda/fake/call.h"
#include "tests/cuda/fake/modules.h"

namespace kiln::fake {

struct Launch {
  FunctionHandle function = nullptr;
  KilnFakeIndex grid, block;
  unsigned shared = 0;  // bytes
};

// The values that pointers lead to when a launch is given; they may change as soon as that call is over.
class Parameters {
 public:
  Parameters(const KilnFakeKernel& kernel, void* const* given);
  void* const* pointers() const { return pointers_.data(); }

 private:
  std::vector<std::byte> bytes_;
  std::vector<void*> pointers_;
};

Result check(const Launch& launch, void* const* parameters);
Failure run(const Launch& launch, const Parameters& parameters);

int shared_by_opt_in();  // the most bytes that a block may have
bool function_attribute(const FunctionData& function, int attribute, int& value);
// Blocks of a function that a multiprocessor has at a time.
int active_blocks(const FunctionData& function, int threads, std::size_t shared);

}  // namespace kiln::fake
