#include "tests/dist/job_process.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <utility>

namespace kiln::testing {

JobProcess::JobProcess(const dist::JobOptions& options) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    int code = 99;
    try {
      code = dist::run_job(options);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    std::fflush(nullptr);
    _exit(code);
  }
  close(ends[1]);
  output_end_ = ends[0];
}

JobProcess::~JobProcess() {
  if (pid_ > 0) kill(pid_, SIGKILL);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  close(output_end_);
}

bool JobProcess::read_some() {
  std::array<char, 4096> bytes;
  const ssize_t count = read(output_end_, bytes.data(), bytes.size());
  if (count > 0) output_.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;
}

void JobProcess::wait_for_output(const std::string& text) {
  while (output_.find(text) == std::string::npos)
    if (!read_some()) throw std::runtime_error("the job ended without `" + text + "`: " + output_);
}

int JobProcess::wait() {
  while (read_some()) continue;
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

dist::JobOptions job(int size, std::vector<std::string> command) {
  dist::JobOptions options;
  options.size = size;
  options.command = std::move(command);
  return options;
}

dist::JobOptions shell_job(int size, const std::string& line) { return job(size, {"sh", "-c", line}); }

}  // namespace kiln::testing
