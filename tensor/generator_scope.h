// Owns random numbers for a scope that leaves no trace in those after it.
#pragma once

#include "tensor/random.h"

namespace kiln {

// For a scope: random numbers go on from `state`, and after it as if none had been drawn in it.
class GeneratorScope {
 public:
  explicit GeneratorScope(const Generator& state = generator()) : before_(generator()) {
    generator() = state;
  }
  ~GeneratorScope() { generator() = before_; }
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  Generator before_;
};

}  // namespace kiln
