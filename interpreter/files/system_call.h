// Owns what happens when a signal cuts a call of the system, and writing that a signal can cut.
#pragma once

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "tensor/parallel.h"

namespace kiln::interp::host {

// Whether a call that failed with `error` was cut by a signal, and is to be made again. Throws OpError
// (Interrupted) when the signal was Ctrl-C.
inline bool was_cut(int error) {
  if (error != EINTR) return false;
  kiln::check_interrupt();
  return true;
}

// Hands text to a stream. False if it was not taken; errno says why. Of what waits for the reader of a pipe
// or a terminal, Ctrl-C ends the wait with EINTR.
bool write_stream(std::FILE* stream, std::string_view text);

}  // namespace kiln::interp::host
