#include "ort/library/process.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

extern char** environ;

namespace kiln::ort {

Process::Process(const std::string& executable, const std::string& file) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error(std::string("no socket: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kSocket);
  std::string words[] = {executable, file};
  char* arguments[] = {words[0].data(), words[1].data(), nullptr};
  const int failure = posix_spawn(&process_, executable.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  socket_ = ends[0];
  if (failure != 0) {
    ::close(socket_);
    throw std::runtime_error(executable + " cannot be started: " + std::strerror(failure));
  }
  try {
    answer();
  } catch (...) {
    ::close(socket_);
    waitpid(process_, nullptr, 0);
    throw;
  }
}

// The program ends when its socket does.
Process::~Process() {
  ::close(socket_);
  waitpid(process_, nullptr, 0);
}

std::string Process::ask(const Writer& request) {
  const std::lock_guard<std::mutex> one(mutex_);
  send(socket_, request.bytes());
  return answer();
}

std::string Process::answer() {
  std::string message;
  if (!receive(socket_, message) || message.empty())
    throw std::runtime_error("the process of the program has ended");
  Reader reader(message);
  if (reader.get<Answer>() == Answer::Error) throw std::runtime_error(reader.text());
  return message.substr(sizeof(Answer));
}

}  // namespace kiln::ort
