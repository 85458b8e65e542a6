// Owns how much of a large value the echo of an entry shows.
#pragma once

#include <cstddef>
#include <limits>

#include "interpreter/values/natives.h"
#include "interpreter/values/value.h"

namespace kiln::interp {

// The default shows everything.
struct Elision {
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  std::size_t items = kAll;       // of a container that are all shown
  std::size_t ends = kAll;        // of a longer one, at each end
  std::size_t characters = kAll;  // of a str that are all shown; of a longer one a quarter at each end
  std::size_t most = kAll;        // after so many values each further container is closed: "[…]"
};

// As tensors are elided by `threshold` and `edge`: a value of more than `threshold` values in all has its
// longest containers cut to their ends, as few of them as will do.
Elision elision_of(const Value& value, const PrintOptions& options);

}  // namespace kiln::interp
