// Owns what may watch the machine while it runs. Capture does: it looks at each instruction before it runs.
#pragma once

#include <string>

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

 protected:
  ~Watcher() = default;
};

}  // namespace kiln::interp
