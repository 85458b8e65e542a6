// Owns the end of objects: destruction without recursion, and the search for reference cycles.
#pragma once

#include <cstddef>

#include "interpreter/value.h"

namespace kiln::interp {

// Cycles of containers that nothing outside refers to, found by trial deletion (Christopher 1984; as CPython
// does it): subtract the references that come from inside the set; what is left with none, and is not reached
// from anything left with some, is garbage. Young objects are searched often, all of them when they doubled.
class Collector {
 public:
  // Cheap: asks whether enough was made, or enough tensor memory taken, since the last search.
  static bool due();
  // Runs a search if it pays; call it between instructions. Gives the number of objects freed.
  static std::size_t collect_if_due();
  static std::size_t collect(bool all = true);
  static std::size_t live_containers();
};

}  // namespace kiln::interp
