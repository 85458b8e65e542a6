// Owns applications of functions that the interpreter ran in a graph and whose backward it has yet to run.
#pragma once

#include <mutex>
#include <vector>

#include "jit/graph/custom.h"

namespace kiln::jit {

// An application is known by the memory of its first result, which is held meanwhile.
class OpenApplications {
 public:
  // Called before the results are handed on. A result whose memory another application gave, too, is copied.
  // Applications whose results were released without a backward are forgotten.
  void add(InterpretedApplication& application);
  // Removes it. Throws OpError (Capture), naming the function, where none is open that gave this result.
  InterpretedApplication take(const Tensor& result, const std::string& function);

 private:
  struct Entry {
    Ref<Buffer> memory;
    InterpretedApplication application;  // without results
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace kiln::jit
