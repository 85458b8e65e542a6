// Owns setting the number of threads for a part of a test.
#pragma once

#include "tensor/parallel.h"

namespace kiln::testing {

// So many threads, for a scope.
class Threads {
 public:
  explicit Threads(int count) : before_(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace kiln::testing
