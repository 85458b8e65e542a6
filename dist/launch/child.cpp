#include "dist/launch/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace kiln::dist {
namespace {

std::pair<Descriptor, Descriptor> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::runtime_error(std::string("no pipe to a new process: ") + std::strerror(errno));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

// This process's environment with the given variables instead of those of the same names.
std::vector<std::string> joined_environment(const std::vector<std::string>& variables) {
  const auto name = [](const std::string& variable) { return variable.substr(0, variable.find('=')); };
  std::vector<std::string> all = variables;
  for (char** at = environ; *at != nullptr; ++at) {
    bool is_given = false;
    for (const std::string& variable : variables) is_given = is_given || name(variable) == name(*at);
    if (!is_given) all.emplace_back(*at);
  }
  return all;
}

// In the new process, between fork and exec: only calls that are safe there.
struct Beginning {
  const ChildOptions& options;
  int input, output, errors, failure;  // descriptors
  pid_t parent;
  char** arguments;
  char** environment;

  [[noreturn]] void run() const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    if (options.own_group) setpgid(0, 0);
    if (!options.reads_input) dup2(input, STDIN_FILENO);
    if (options.captures_output) {
      dup2(output, STDOUT_FILENO);
      dup2(errors, STDERR_FILENO);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvpe(arguments[0], arguments, environment);
    const int error = errno;
    if (::write(failure, &error, sizeof(error)) < 0) _exit(126);
    _exit(127);
  }
};

}  // namespace

Child::Child(const ChildOptions& options) : own_group_(options.own_group) {
  std::vector<std::string> command = options.command, environment = joined_environment(options.environment);
  std::vector<char*> arguments = pointers(command), variables = pointers(environment);
  Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto [out_read, out_write] = make_pipe();
  auto [err_read, err_write] = make_pipe();
  auto [failure_read, failure_write] = make_pipe();
  const Beginning beginning{options,  nothing.get(),    out_write.get(), err_write.get(), failure_write.get(),
                            getpid(), arguments.data(), variables.data()};
  pid_ = fork();
  if (pid_ == 0) beginning.run();
  if (pid_ < 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
  if (own_group_) setpgid(pid_, pid_);
  failure_write.close();
  int error = 0;
  if (read(failure_read.get(), &error, sizeof(error)) == sizeof(error)) {
    waitpid(pid_, nullptr, 0);
    status_ = 0;
    throw std::runtime_error("cannot start `" + command.front() + "`: " + std::strerror(error));
  }
  if (!options.captures_output) return;
  output_ = std::move(out_read);
  errors_ = std::move(err_read);
}

Child::~Child() {
  if (!is_running()) return;
  signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Child::reap() {
  int status = 0;
  if (is_running() && waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
}

void Child::signal(int number) {
  if (is_running()) kill(own_group_ ? -pid_ : pid_, number);
}

}  // namespace kiln::dist
