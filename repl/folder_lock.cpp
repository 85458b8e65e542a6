#include "repl/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace kiln::repl {

FolderLock::FolderLock(const std::string& path_of_file)
    : descriptor_(open(path_of_file.substr(0, path_of_file.rfind('/') + 1).c_str(),
                       O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  while (descriptor_ >= 0 && flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace kiln::repl
