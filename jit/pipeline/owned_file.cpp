#include "jit/pipeline/owned_file.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

namespace kiln::jit {
namespace {

constexpr mode_t kWritableByOthers = S_IWGRP | S_IWOTH;

}  // namespace

Descriptor open_owned_folder(const std::string& path) {
  Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  const bool is_ours = folder.is_open() && fstat(folder.number(), &status) == 0 &&
                       status.st_uid == geteuid() && (status.st_mode & kWritableByOthers) == 0;
  return is_ours ? std::move(folder) : Descriptor(-1);
}

Descriptor open_owned_file(int folder, const std::string& name, std::size_t most, mode_t forbidden,
                           struct stat& status) {
  Descriptor file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  const bool is_ours = file.is_open() && fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode) &&
                       status.st_uid == geteuid() && (status.st_mode & forbidden) == 0 &&
                       status.st_size >= 0 && static_cast<std::size_t>(status.st_size) <= most;
  return is_ours ? std::move(file) : Descriptor(-1);
}

std::optional<std::string> read_bytes(const Descriptor& file, std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t done = 0; done < count;) {
    const ssize_t got = read(file.number(), bytes.data() + done, count - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

bool write_bytes(const Descriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file.number(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace kiln::jit
