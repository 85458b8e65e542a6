#include "editor/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace kiln::editor {
namespace {

constexpr auto kLongestAnswer = std::chrono::seconds(5);
constexpr std::size_t kPiece = 65536;

// Keeps the channel alone, and ends with the server.
void become_copy(int channel) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nowhere = open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);
  close_range(STDERR_FILENO + 1, static_cast<unsigned>(channel) - 1, 0);
  close_range(static_cast<unsigned>(channel) + 1, ~0U, 0);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  for (const int signal : {SIGINT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(signal, SIG_DFL);
}

std::string line_of(const Json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

bool Channel::read(Json& message) {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      message = Json::parse(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(end));
      buffer_.erase(0, end + 1);
      return true;
    }
    std::array<char, kPiece> piece;
    const ssize_t got = ::read(descriptor_, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    buffer_.append(piece.data(), static_cast<std::size_t>(got));
  }
}

void Channel::write(const Json& message) {
  const std::string line = line_of(message);
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t sent = ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // the other end is closed
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

Worker::Worker(const Work& work, Answer first, Clock::duration patience)
    : first_(std::move(first)), first_deadline_(Clock::now() + patience) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
  process_ = fork();
  if (process_ == 0) {
    become_copy(ends[1]);
    Channel channel(ends[1]);
    try {
      work(channel);
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  descriptor_ = ends[0];
  fcntl(descriptor_, F_SETFL, O_NONBLOCK);
  is_alive_ = process_ > 0;
  if (!is_alive_) stop();
}

Worker::~Worker() { stop(); }

void Worker::stop() {
  is_alive_ = false;
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  outgoing_.clear();
  for (auto& [number, each] : std::exchange(awaited_, {})) each.then(Json());
  if (!std::exchange(has_first_, true) && first_) first_(Json());
}

void Worker::ask(Json question, Answer then) {
  if (!is_alive_) return then(Json());
  question["id"] = ++asked_;
  awaited_[asked_] = {std::move(then), Clock::now() + kLongestAnswer};
  outgoing_ += line_of(question);
  write_some();
}

Worker::Clock::time_point Worker::deadline() const {
  Clock::time_point earliest = Clock::time_point::max();
  if (!is_alive_) return earliest;
  if (!has_first_) earliest = first_deadline_;
  for (const auto& [number, each] : awaited_) earliest = std::min(earliest, each.deadline);
  return earliest;
}

void Worker::go_on() {
  if (is_alive_) write_some();
  if (is_alive_) read_some();
  if (is_alive_ && deadline() < Clock::now()) stop();
}

void Worker::write_some() {
  while (!outgoing_.empty()) {
    const ssize_t sent = ::send(descriptor_, outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // later, or when reading finds the end
    outgoing_.erase(0, static_cast<std::size_t>(sent));
  }
}

void Worker::read_some() {
  std::array<char, kPiece> piece;
  for (;;) {
    const ssize_t got = ::read(descriptor_, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) return stop();
    incoming_.append(piece.data(), static_cast<std::size_t>(got));
    for (std::size_t end; is_alive_ && (end = incoming_.find('\n')) != std::string::npos;) {
      const std::string line = incoming_.substr(0, end);
      incoming_.erase(0, end + 1);
      take(line);
    }
    if (!is_alive_) return;
  }
}

void Worker::take(const std::string& line) {
  const Json message = Json::parse(line, nullptr, false);
  if (message.is_discarded()) return stop();
  const auto found = awaited_.find(message.value("id", 0));
  if (found == awaited_.end()) {
    if (!std::exchange(has_first_, true) && first_) first_(message);
    return;
  }
  const Answer then = std::move(found->second.then);
  awaited_.erase(found);
  then(message.value("answer", Json()));
}

}  // namespace kiln::editor
