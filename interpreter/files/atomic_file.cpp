#include "interpreter/files/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

#include "interpreter/files/io_error.h"
#include "interpreter/files/part_file.h"
#include "interpreter/files/system_call.h"
#include "interpreter/shadow.h"
#include "tensor/detached_call.h"

namespace kiln::interp::files {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = 1U << 24U;  // some milliseconds of writing, then an interrupt is seen

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

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : shown_(path), target_(resolved(path)) {
  shadow::leave();
  struct stat status{};
  const bool there = ::stat(target_.c_str(), &status) == 0;
  if (there && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (there && !S_ISREG(status.st_mode)) {
    do {
      descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    } while (descriptor_ < 0 && host::was_cut(errno));  // a pipe is opened when somebody reads it
    if (descriptor_ < 0) fail(errno);
    return;
  }
  if (there && ::access(target_.c_str(), W_OK) != 0) fail(errno);
  sweep_part_files(target_);
  const PartFile part = make_part_file(target_);
  if (part.descriptor < 0) fail(errno);
  descriptor_ = part.descriptor;
  temporary_ = part.path;
  if (there) static_cast<void>(::fchmod(descriptor_, status.st_mode & 07777));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

bool AtomicFile::is_seekable() const { return ::lseek(descriptor_, 0, SEEK_CUR) >= 0; }

void AtomicFile::fail(int error) { host::raise_io("write", shown_, error); }

void AtomicFile::write(const void* bytes, std::size_t n) {
  const auto* at = static_cast<const std::byte*>(bytes);
  while (n > 0) {
    const ssize_t wrote = ::write(descriptor_, at, std::min(n, kPiece));
    if (wrote < 0 && host::was_cut(errno)) continue;
    if (wrote < 0) fail(errno);
    kiln::check_interrupt();
    at += wrote;
    n -= static_cast<std::size_t>(wrote);
  }
}

// A disk takes what it is given for seconds, in which no signal cuts the call: on another thread, and a
// descriptor of its own, it may be left behind. A pipe cannot be synced, which is no failure.
void AtomicFile::sync() {
  const auto error = std::make_shared<int>(0);
  const int own = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (own < 0) fail(errno);
  const std::shared_ptr<const int> descriptor(new int(own), [](const int* last) {
    ::close(*last);
    delete last;
  });
  run_detached([=] {
    while (::fsync(*descriptor) != 0) {
      if (errno == EINTR) continue;
      *error = errno;
      return;
    }
  });
  if (*error != 0 && *error != EINVAL) fail(*error);
}

void AtomicFile::commit() {
  const bool is_part = !temporary_.empty();
  if (is_part) {
    sync();
    // The descriptor has the lock until the part has its new name: other processes sweep away unlocked parts.
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
    temporary_.clear();
  }
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail(errno);
  if (!is_part) return;
  const fs::path folder = fs::path(target_).parent_path();
  const int opened = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  static_cast<void>(::fsync(opened));  // the new name itself; some file systems cannot
  ::close(opened);
}

}  // namespace kiln::interp::files
