#include "tests/capture/apart.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include <fmt/format.h>

#include "tests/capture/compare.h"

namespace kiln::testing {
namespace {

constexpr unsigned kMostSeconds = 60;

[[noreturn]] void check_and_exit(const Program& program, int to) {
  alarm(kMostSeconds);
  if (const auto found = difference(program)) {
    std::size_t sent = 0;
    while (sent < found->size()) {
      const ssize_t count = write(to, found->data() + sent, found->size() - sent);
      if (count <= 0) break;
      sent += static_cast<std::size_t>(count);
    }
  }
  _exit(0);
}

std::string read_all(int from) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(from, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

std::optional<std::string> difference_apart(const Program& program) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe could be made";
  const pid_t child = fork();
  if (child < 0) return "no process could be made";
  if (child == 0) {
    close(ends[0]);
    check_and_exit(program, ends[1]);
  }
  close(ends[1]);
  std::string text = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return signal == SIGALRM ? std::string("a run does not end\n")
                             : fmt::format("a run ends in signal {}\n", signal);
  }
  if (status != 0) return fmt::format("a run ends with {}\n{}", WEXITSTATUS(status), text);
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

}  // namespace kiln::testing
