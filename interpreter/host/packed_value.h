// Owns values as bytes, for ranks that send them to each other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "interpreter/values/value.h"

namespace kiln::interp::host {

/// Numbers, texts, dtypes, tensors, and lists, tuples, sets and dicts of them. Throws TypeError for other
/// values and RecursionError for a value that holds itself.
std::vector<std::byte> packed(const Value& value);
/// What `packed` was given, with tensors on the CPU.
Value unpacked(std::span<const std::byte> bytes);

}  // namespace kiln::interp::host
