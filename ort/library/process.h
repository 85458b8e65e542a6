// Owns the process of a program: starting it, asking it, ending it.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <string>

#include "ort/frames.h"

namespace kiln::ort {

class Process {
 public:
  // Starts `executable file`, and waits until the program has run. Throws std::runtime_error with what it
  // says.
  Process(const std::string& executable, const std::string& file);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // The answer to a request, whose first byte was read. Throws std::runtime_error: with the text of the
  // program's error, or because the process has ended. Calls of several threads come one after the other.
  std::string ask(const Writer& request);

 private:
  std::string answer();
  std::mutex mutex_;
  int socket_ = -1;
  pid_t process_ = 0;
};

}  // namespace kiln::ort
