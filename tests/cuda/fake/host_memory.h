// Owns memory of the host that the driver gives, which copies read and write while the host goes on.
#pragma once

#include <cstddef>

#include "tests/cuda/fake/call.h"

namespace kiln::fake {

void* allocate_on_host(std::size_t bytes);  // null where there is none
bool is_block_of_host(const void* place);   // does a block begin here?
Failure release_on_host(void* place);

enum class HostPlace { Plain, Block, BeyondBlock };
// Are these bytes of a block, of none, or partly of one?
HostPlace host_place(const void* place, std::size_t bytes);

}  // namespace kiln::fake
