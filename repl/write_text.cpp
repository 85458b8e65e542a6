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

// A new file beside the one that it becomes. A device or a pipe has no such thing, and is written itself.
struct FreshFile {
  explicit FreshFile(const std::string& path) : target(resolve_links(path)) {
    struct stat status{};
    exists = stat(target.c_str(), &status) == 0;
    mode = status.st_mode & 07777;
    if (exists && S_ISDIR(status.st_mode)) cannot_write(path, EISDIR);
    if (exists && access(target.c_str(), W_OK) != 0) cannot_write(path, errno);
    if (exists && !S_ISREG(status.st_mode)) {
      descriptor = open(target.c_str(), O_WRONLY | O_CLOEXEC);
    } else {
      name = target + ".XXXXXX";
      descriptor = mkstemp(name.data());
    }
    if (descriptor < 0) cannot_write(path, errno);
  }
  bool is_target() const { return name.empty(); }
  void remove() const {
    if (!is_target()) unlink(name.c_str());
  }

  std::string target, name;
  bool exists = false;
  mode_t mode = 0;
  int descriptor = -1;
};

}  // namespace

void write_text(const std::string& path, std::string_view text) {
  const FreshFile fresh(path);
  const mode_t mask = umask(0);
  umask(mask);
  if (!fresh.is_target()) fchmod(fresh.descriptor, fresh.exists ? fresh.mode : 0666 & ~mask);
  int error = fill(fresh.descriptor, text);
  if (close(fresh.descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && !fresh.is_target() && rename(fresh.name.c_str(), fresh.target.c_str()) != 0)
    error = errno;
  if (error == 0) return;
  fresh.remove();
  cannot_write(path, error);
}

void check_writable(const std::string& path) {
  const FreshFile fresh(path);
  close(fresh.descriptor);
  fresh.remove();
}

}  // namespace kiln::repl
