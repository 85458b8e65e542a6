// Owns starting a process of a job, and how it ended.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "dist/launch/socket.h"

namespace kiln::dist {

/// How a process is started.
struct ChildOptions {
  std::vector<std::string> command;      // program and arguments; the program is searched for in PATH
  std::vector<std::string> environment;  // "NAME=value", beside what this process has
  bool reads_input = false;              // its standard input is this process's, else it is empty
  bool captures_output = true;           // its output comes through pipes, else it is this process's
  bool own_group = true;                 // signals of the terminal do not reach it
};

/// A process that ends when its parent does.
class Child {
 public:
  /// Throws std::runtime_error where it cannot be started.
  explicit Child(const ChildOptions& options);
  /// Kills what still runs.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Descriptor& output() { return output_; }  // -1 where it is not captured
  Descriptor& errors() { return errors_; }
  bool is_running() const { return !status_; }
  /// As of waitpid; the process has ended.
  int status() const { return *status_; }
  /// Looks whether it has ended.
  void reap();
  /// To the process and, where it has a group of its own, to all in that.
  void signal(int number);

 private:
  pid_t pid_ = -1;
  bool own_group_;
  Descriptor output_, errors_;
  std::optional<int> status_;
};

}  // namespace kiln::dist
