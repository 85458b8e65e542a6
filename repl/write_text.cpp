#include "repl/write_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "repl/command.h"

namespace kiln::repl {
namespace {

[[noreturn]] void cannot_write(const std::string& path, int error) {
  command_error("IOError", "cannot write '" + path + "': " + std::strerror(error));
}

std::string resolve_links(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) != nullptr ? resolved : path;
}

// Gives 0 or the errno of the first step that failed.
int fill(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

void write_text(const std::string& path, std::string_view text) {
  const std::string target = resolve_links(path);
  struct stat status{};
  const bool exists = stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) cannot_write(path, EISDIR);
  if (exists && access(target.c_str(), W_OK) != 0) cannot_write(path, errno);
  std::string fresh = target + ".XXXXXX";
  const int descriptor = mkstemp(fresh.data());
  if (descriptor < 0) cannot_write(path, errno);
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, exists ? status.st_mode & 07777 : 0666 & ~mask);
  int error = fill(descriptor, text);
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && rename(fresh.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  unlink(fresh.c_str());
  cannot_write(path, error);
}

}  // namespace kiln::repl
