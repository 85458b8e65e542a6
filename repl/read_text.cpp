#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "repl/command.h"
#include "repl/session.h"
#include "tensor/parallel.h"

namespace kiln::repl {
namespace {

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number > 0) close(number);
  }
};

[[noreturn]] void cannot_read(const std::string& path, std::string_view why, std::string help = {}) {
  command_error("IOError", "cannot read '" + path + "': " + std::string(why), std::move(help));
}

std::string_view reason(int error) {
  switch (error) {
    case ENOENT:
      return "there is no such file";
    case EACCES:
      return "permission denied";
    case EISDIR:
      return "it is a directory";
    case ENOTDIR:
      return "a part of the path is not a directory";
    default:
      return std::strerror(error);
  }
}

}  // namespace

std::string read_text(const std::string& path) {
  const Descriptor file{path == "-" ? 0 : open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.number < 0) cannot_read(path, reason(errno));
  struct stat status{};
  if (fstat(file.number, &status) == 0 && S_ISDIR(status.st_mode)) {
    cannot_read(path, reason(EISDIR), "name a file in it");
  }
  std::string text;
  for (char block[65536];;) {
    const ssize_t got = read(file.number, block, sizeof block);
    if (got < 0 && errno == EINTR) {
      check_interrupt();
      continue;
    }
    if (got < 0) cannot_read(path, reason(errno));
    if (got == 0) break;
    text.append(block, static_cast<std::size_t>(got));
  }
  if (text.find('\0') != std::string::npos) {
    cannot_read(path, "it is not text", "Kiln reads UTF-8 text");
  }
  return text;
}

}  // namespace kiln::repl
