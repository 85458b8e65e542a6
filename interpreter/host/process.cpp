// Other programs, run to their end.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/files/io_error.h"
#include "interpreter/files/system_call.h"
#include "interpreter/interpreter.h"
#include "interpreter/shadow.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "lang/utf8.h"

extern char** environ;

namespace kiln::interp {
namespace {

using namespace host;
using Clock = std::chrono::steady_clock;

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) raise_io("make a pipe for", "run", errno);
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) close(std::exchange(ends_[end], -1));
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

// A program that was started; one that is still running when this goes is killed.
class Process {
 public:
  explicit Process(const std::vector<std::string>& command) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.reader(), 0);
    posix_spawn_file_actions_adddup2(&actions, output.writer(), 1);
    posix_spawn_file_actions_adddup2(&actions, error.writer(), 2);
    std::vector<char*> arguments;
    for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    const int failed = posix_spawnp(&id_, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
      id_ = -1;
      raise_io("run", command[0], failed);
    }
    input.close_end(0);
    output.close_end(1);
    error.close_end(1);
  }
  ~Process() {
    if (id_ < 0) return;
    kill(id_, SIGKILL);
    while (waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Pipe input, output, error;

  // The exit code; 128 and the signal's number where a signal ended it, as shells say.
  int wait() {
    int status = 0;
    while (waitpid(id_, &status, 0) < 0 && was_cut(errno)) {
    }
    id_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t id_ = -1;
};

// While one lives, writing to a program that reads no more is an error of the call and no signal.
class NoPipeSignal {
 public:
  NoPipeSignal() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~NoPipeSignal() { std::signal(SIGPIPE, before_); }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  void (*before_)(int);
};

bool read_some(int from, std::string& into) {
  std::array<char, 65536> bytes;
  const ssize_t got = read(from, bytes.data(), bytes.size());
  if (got < 0) return errno == EAGAIN || was_cut(errno);
  into.append(bytes.data(), static_cast<std::size_t>(got));
  return got > 0;
}

// Gives the program its input and takes its output until it closes both outputs.
void exchange(Process& process, std::string_view text, std::string& output, std::string& error,
              std::optional<Clock::time_point> deadline) {
  fcntl(process.input.writer(), F_SETFL, O_NONBLOCK);
  while (process.output.reader() >= 0 || process.error.reader() >= 0) {
    if (text.empty()) process.input.close_end(1);
    std::array<pollfd, 3> ends{pollfd{process.output.reader(), POLLIN, 0},
                               pollfd{process.error.reader(), POLLIN, 0},
                               pollfd{process.input.writer(), POLLOUT, 0}};
    constexpr int kNap = 20;  // ms, so that Ctrl-C and the deadline are seen
    if (poll(ends.data(), ends.size(), kNap) < 0 && !was_cut(errno)) raise_io("read from", "run", errno);
    kiln::check_interrupt();
    if (deadline && Clock::now() > *deadline)
      raise("IOError", "run: the program is not done within `timeout`, and was ended");
    if (ends[2].revents != 0) {
      const ssize_t taken = write(process.input.writer(), text.data(), text.size());
      if (taken > 0) text.remove_prefix(static_cast<std::size_t>(taken));
      if (taken < 0 && errno != EAGAIN && errno != EINTR) text = {};  // it reads no more
    }
    if (ends[0].revents != 0 && !read_some(process.output.reader(), output)) process.output.close_end(0);
    if (ends[1].revents != 0 && !read_some(process.error.reader(), error)) process.error.close_end(0);
  }
}

// Bytes that are no UTF-8 become U+FFFD.
Value text_value(std::string bytes) {
  std::size_t at = 0;
  for (std::size_t bad = 0;
       (bad = lang::find_invalid_utf8(std::string_view(bytes).substr(at))) != std::string::npos;) {
    bytes.replace(at + bad, 1, "\xEF\xBF\xBD");
    at += bad + 3;
  }
  return Value(bytes);
}

Value run_process(Interpreter& interpreter, std::span<Value> a) {
  shadow::leave();
  std::vector<std::string> command;
  if (a[0].is(Tag::Str)) {
    command = {"/bin/sh", "-c", path_argument(a[0], "command")};
  } else if (const std::vector<Value>* const items = items_of(a[0])) {
    for (const Value& each : *items) command.push_back(path_argument(each, "command"));
  } else {
    wrong_type("command", "text for the shell, or a list of a program and its arguments", a[0]);
  }
  if (command.empty()) raise("ValueError", "run: the command is empty");
  std::optional<Clock::time_point> deadline;
  if (!a[2].is_none()) {
    deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(float_argument(a[2], "timeout")));
  }
  interpreter.flush();
  std::string output, error;
  Process process(command);
  const NoPipeSignal no_signal;
  exchange(process, text_argument(a[1], "input"), output, error, deadline);
  const int code = process.wait();
  return tuple_value({Value(code), text_value(std::move(output)), text_value(std::move(error))});
}

constexpr NativeDef kProcessNatives[] = {
    {"run_process(command, input=\"\", timeout=none)",
     "Runs another program to its end; its exit code, its output and what it wrote as errors. `run` gives "
     "them names.\n"
     ">>> run_process([\"echo\", \"hello\"])\n(0, 'hello\\n', '')",
     run_process},
};

}  // namespace

std::span<const NativeDef> process_natives() { return kProcessNatives; }

}  // namespace kiln::interp
