// Owns what may watch the machine while it runs. Capture does, and a check of a program: they look at each
// instruction before it runs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "interpreter/vm/frame.h"

namespace kiln::interp {

class Watcher {
 public:
  Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Runs the frames down to `entry`, as the machine would without it.
  virtual bool observe(Frame* entry) = 0;
  // Watches no more, for this reason.
  virtual void give_up(std::string reason) = 0;
  // A host function is about to run. What is thrown here is what its call gives.
  virtual void enters(const Native& /*native*/, std::span<const Value> /*arguments*/,
                      std::span<const std::pair<std::string_view, Value>> /*named*/) {}

 protected:
  ~Watcher() = default;
};

}  // namespace kiln::interp
