#include "tests/cuda/fake/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

namespace kiln::fake {
namespace {

constexpr int kStep = 20;  // milliseconds between questions whether to stop

pid_t start(const std::vector<std::string>& words, const std::filesystem::path& folder, int out) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
  pid_t child = -1;
  if (posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) child = -1;
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

// Until the other end is closed.
void read_all(int in, pid_t child, const std::function<bool()>& must_stop, Ended& ended) {
  std::array<char, 4096> part{};
  while (true) {
    pollfd ready{in, POLLIN, 0};
    const int count = poll(&ready, 1, kStep);
    if (!ended.is_stopped && must_stop && must_stop()) {
      ended.is_stopped = true;
      kill(child, SIGKILL);
    }
    if (count <= 0) continue;
    const ssize_t got = read(in, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    ended.out.append(part.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Ended run_program(const std::vector<std::string>& words, const std::filesystem::path& folder,
                  const std::function<bool()>& must_stop) {
  Ended ended;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return ended;
  const pid_t child = start(words, folder, ends[1]);
  close(ends[1]);
  if (child > 0) {
    ended.is_started = true;
    read_all(ends[0], child, must_stop, ended);
    while (waitpid(child, &ended.status, 0) < 0 && errno == EINTR) {
    }
  }
  close(ends[0]);
  return ended;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  return static_cast<bool>(file.flush());
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "kiln_fake_XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace kiln::fake
