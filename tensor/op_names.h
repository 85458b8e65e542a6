// Owns the other names of ops: those of PyTorch's that mean the same as an op's own.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kiln {

struct OtherName {
  std::string_view other, own;
};

// Sorted by the other name.
std::span<const OtherName> other_names();

// The own name of an op, or of its `_` form, by any of its names: "clip_" gives "clamp_". What is no other
// name is given back.
std::string own_name(std::string_view name);

}  // namespace kiln
