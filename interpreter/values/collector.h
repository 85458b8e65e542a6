// Owns the end of objects: destruction without recursion, and the search for reference cycles.
#pragma once

#include <cstddef>

#include "interpreter/values/value.h"
#include "tensor/memory.h"

namespace kiln::interp {

// Cycles that nothing outside refers to, found by trial deletion (Christopher 1984; as CPython does it):
// subtract the references that come from inside the set; an object that is left with none, and is not reached
// from one that is left with some, is garbage. The set begins with containers, and goes through all objects
// between them: values that host functions, iterators and tensors hold, and the tape. New objects are
// searched often, until they have been through two searches; all objects are searched when their number has
// doubled.
class Collector {
 public:
  // Runs a search if it pays; call it between instructions.
  static void collect_if_due() {
    if (made_ >= kYoungLimit || memory::bytes_taken >= next_look_) [[unlikely]]
      look();
  }
  // Gives the number of objects freed: none where Ctrl-C stops the search, which then is due again.
  static std::size_t collect(bool all = true);
  static std::size_t live_containers();
  // Whether objects end now because a search found them: what they refer to may be gone from them already.
  static bool is_freeing() { return is_freeing_; }

 private:
  friend struct Container;
  static constexpr std::size_t kYoungLimit = 10'000;                 // containers made between searches
  static constexpr std::size_t kTensorLimit = std::size_t{1} << 23;  // or bytes of tensors added
  static void look();

  static inline bool is_freeing_ = false;
  static inline std::size_t made_ = 0;  // since the last search, less those that died
  // Before this many bytes of tensors were taken, no more than kTensorLimit can have been added to them.
  static inline std::size_t next_look_ = kTensorLimit;
};

}  // namespace kiln::interp
