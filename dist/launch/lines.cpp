#include "dist/launch/lines.h"

#include <utility>

namespace kiln::dist {

void LineCutter::feed(std::string_view bytes) {
  for (std::size_t end; (end = bytes.find('\n')) != std::string_view::npos; bytes.remove_prefix(end + 1)) {
    rest_ += bytes.substr(0, end);
    line_(std::exchange(rest_, {}));
  }
  rest_ += bytes;
}

void LineCutter::finish() {
  if (!rest_.empty()) line_(std::exchange(rest_, {}));
}

}  // namespace kiln::dist
