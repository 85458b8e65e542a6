#include "interpreter/files/system_call.h"

#include <stdio_ext.h>
#include <sys/stat.h>

#include <climits>

#include "tensor/interrupt_look.h"

namespace kiln::interp::host {
namespace {

// A pipe, a terminal, a socket: not a file, which takes what it is given.
bool waits_for_reader(std::FILE* stream) {
  struct stat status{};
  return ::fstat(::fileno(stream), &status) == 0 && !S_ISREG(status.st_mode);
}

}  // namespace

// A pipe takes up to PIPE_BUF bytes all at once or, when a signal comes first, none of them. Of more it may
// have taken a part by then, and stdio would wait for the reader once more, not knowing of the signal. So
// does a terminal.
bool write_stream(std::FILE* stream, std::string_view text) {
  constexpr std::size_t kMost = PIPE_BUF;
  if (::__fpending(stream) + text.size() <= kMost || !waits_for_reader(stream))
    return std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  while (!text.empty()) {
    if (interrupt_came()) {
      errno = EINTR;
      return false;
    }
    const std::size_t pending = ::__fpending(stream);
    if (pending >= kMost) {
      if (std::fflush(stream) != 0) return false;
      continue;
    }
    const std::string_view piece = text.substr(0, kMost - pending);
    if (std::fwrite(piece.data(), 1, piece.size(), stream) != piece.size()) return false;
    text.remove_prefix(piece.size());
  }
  return true;
}

}  // namespace kiln::interp::host
