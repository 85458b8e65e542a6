// Owns how loops are shared among threads.
#pragma once

#include <cstdint>
#include <functional>

#include "tensor/interrupt.h"

namespace kiln {

int num_threads();
void set_num_threads(int count);  // throws OpError (Value) when < 1

// A reference to a callable; the callable must outlive the call.
class RangeFn {
 public:
  template <class F>
  RangeFn(const F& f)
      : object_(&f), call_([](const void* object, std::int64_t begin, std::int64_t end) {
          (*static_cast<const F*>(object))(begin, end);
        }) {}
  void operator()(std::int64_t begin, std::int64_t end) const { call_(object_, begin, end); }

 private:
  const void* object_;
  void (*call_)(const void*, std::int64_t, std::int64_t);
};

// Runs f(begin, end) over pieces of [0, count). Runs in the calling thread when count < grain or when already
// inside a parallel region. Results must not depend on where the pieces are cut. Exceptions of `f` are
// rethrown. Throws OpError (Interrupted) between pieces when an interrupt was requested, unless the calling
// thread holds it (tensor/interrupt.h). Items that may take milliseconds each are for `f` to look between.
void parallel_for(std::int64_t count, std::int64_t grain, RangeFn f);

}  // namespace kiln
