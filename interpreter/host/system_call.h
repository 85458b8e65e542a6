// Owns what happens when a signal cuts a call of the system.
#pragma once

#include <cerrno>

#include "tensor/parallel.h"

namespace kiln::interp::host {

// Whether a call that failed with `error` was cut by a signal, and is to be made again. Throws OpError
// (Interrupted) when the signal was Ctrl-C.
inline bool was_cut(int error) {
  if (error != EINTR) return false;
  kiln::check_interrupt();
  return true;
}

}  // namespace kiln::interp::host
