// Owns a trace that is being recorded: of this process, or of all ranks of its job in one file.
#pragma once

#include <string>

#include "tensor/timeline.h"

namespace kiln::repl {

/// Records from its construction on what takes time. Lines of scalar code are not ticked, as for a profile,
/// so that a program runs at its own pace.
class Trace {
 public:
  /// A path that cannot be written is told before the work. Throws UserError (IOError), and OpError (Value)
  /// while something else is recorded.
  explicit Trace(std::string path);
  const std::string& path() const { return path_; }
  /// Ends the recording and writes the file; in a job rank 0 does, with what the others send it, while all
  /// call it. Gives a line that says so, empty on other ranks. Throws UserError (IOError).
  std::string finish();

 private:
  std::string path_;
  timeline::Recording recording_;
};

}  // namespace kiln::repl
