#include "interpreter/files/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "interpreter/host/text_file.h"
#include "interpreter/shadow.h"

namespace kiln::interp::files {
namespace {

namespace fs = std::filesystem;

// The file a chain of links ends at, there or not.
std::string resolved(const std::string& path) {
  std::error_code failed;
  fs::path at(path);
  for (int links = 0; links < 40 && fs::is_symlink(at, failed); ++links) {
    const fs::path next = fs::read_symlink(at, failed);
    if (failed) break;
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  return at.string();
}

std::string beside(const std::string& target) {
  static unsigned counter = 0;
  const fs::path path(target);
  return (path.parent_path() /
          fmt::format(".{}.{}-{}.part", path.filename().string().substr(0, 100), ::getpid(), ++counter))
      .string();
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : shown_(path), target_(resolved(path)) {
  shadow::leave();
  struct stat status{};
  const bool there = ::stat(target_.c_str(), &status) == 0;
  if (there && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (there && !S_ISREG(status.st_mode)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    if (there && ::access(target_.c_str(), W_OK) != 0) fail(errno);
    temporary_ = beside(target_);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0 && there) static_cast<void>(::fchmod(descriptor_, status.st_mode & 07777));
  }
  if (descriptor_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail(error);
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(int error) { host::raise_io("write", shown_, error); }

void AtomicFile::write(const void* bytes, std::size_t n) {
  const auto* at = static_cast<const std::byte*>(bytes);
  while (n > 0) {
    const ssize_t wrote = ::write(descriptor_, at, std::min<std::size_t>(n, 1U << 30U));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail(errno);
    at += wrote;
    n -= static_cast<std::size_t>(wrote);
  }
}

void AtomicFile::commit() {
  // A pipe cannot be synced, which is no failure.
  if (!temporary_.empty() && ::fsync(descriptor_) != 0 && errno != EINVAL) fail(errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
  const fs::path folder = fs::path(target_).parent_path();
  const int opened = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  static_cast<void>(::fsync(opened));  // the new name itself; some file systems cannot
  ::close(opened);
}

}  // namespace kiln::interp::files
