// Owns a launcher that runs in a process of its own, for tests that look at it from outside.
#pragma once

#include <sys/types.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "dist/launch/job.h"

namespace kiln::testing {

class JobProcess {
 public:
  explicit JobProcess(const dist::JobOptions& options);
  ~JobProcess();
  JobProcess(const JobProcess&) = delete;
  JobProcess& operator=(const JobProcess&) = delete;

  pid_t pid() const { return pid_; }
  /// Reads what it writes, until that holds `text`.
  void wait_for_output(const std::string& text);
  /// Waits for its end; gives the exit code, or 128 plus the signal.
  int wait();
  /// Standard output and standard error, as far as read.
  const std::string& output() const { return output_; }

 private:
  bool read_some();

  pid_t pid_ = -1;
  int output_end_ = -1;
  std::string output_;
};

/// A variable of the environment, which jobs started while it lives inherit.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// A job of `size` ranks that run a program with arguments.
dist::JobOptions job(int size, std::vector<std::string> command);
/// A job of `size` ranks that run a line of shell.
dist::JobOptions shell_job(int size, const std::string& line);

}  // namespace kiln::testing
