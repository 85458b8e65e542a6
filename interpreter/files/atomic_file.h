// Owns the writing of a file so that it is either wholly new or what it was.
#pragma once

#include <string>

#include "interpreter/files/bytes.h"

namespace kiln::interp::files {

// Writes beside the target; `commit` puts it in its place after the disk has it. Without a commit the written
// part is removed, and what killed processes left is removed by the next one. Every failure (a full disk, a
// missing folder) is an IOError naming the target; Ctrl-C is Interrupted. Something that is not a regular
// file (a pipe, a device) is written into directly.
class AtomicFile : public Sink {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile() override;
  void write(const void* bytes, std::size_t n) override;
  void commit();
  bool is_seekable() const;
  // Where the content goes until then, for writers that need a path.
  const std::string& working_path() const { return temporary_.empty() ? target_ : temporary_; }
  [[noreturn]] void fail(int error);

 private:
  void sync();

  std::string shown_;      // as the user gave it
  std::string target_;     // links resolved
  std::string temporary_;  // empty when written directly
  int descriptor_ = -1;
};

}  // namespace kiln::interp::files
