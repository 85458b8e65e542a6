// Owns how much the last of the processor's caches holds: what is larger goes to memory anyway.
#pragma once

#include <cstdint>

namespace kiln::cpu {

// In bytes, as the machine says, or 32 MiB where it does not.
std::int64_t last_cache_bytes();
// For tests, which need not be large to take the ways of what is.
void set_last_cache_bytes(std::int64_t bytes);

}  // namespace kiln::cpu
