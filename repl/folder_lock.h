// Owns that sessions side by side change a file one after the other.
#pragma once

#include <string>

namespace kiln::repl {

// Held for a scope: the folder of a file, against other processes that do the same. Where the file system has
// no locks, or the folder is not there, it holds nothing.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path_of_file);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace kiln::repl
