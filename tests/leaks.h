// Owns what tests say to the leak sanitizer.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace kiln::testing {

// What is made within its scope may stay to the end of the process.
class LeaksAllowed {
 public:
  LeaksAllowed(const LeaksAllowed&) = delete;
  LeaksAllowed& operator=(const LeaksAllowed&) = delete;
#if defined(__SANITIZE_ADDRESS__)
  LeaksAllowed() { __lsan_disable(); }
  ~LeaksAllowed() { __lsan_enable(); }
#else
  LeaksAllowed() {}
  ~LeaksAllowed() {}
#endif
};

}  // namespace kiln::testing
