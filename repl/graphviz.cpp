#include "repl/graphviz.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "repl/command.h"
#include "tensor/interrupt.h"

namespace kiln::repl {

void draw(const std::string& text, const std::string& path) {
  const std::string format = "-T" + std::filesystem::path(path).extension().string().substr(1);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> input(std::tmpfile(), std::fclose);
  if (!input) command_error("IOError", fmt::format("cannot write in /tmp: {}", std::strerror(errno)));
  std::fwrite(text.data(), 1, text.size(), input.get());
  std::rewind(input.get());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(input.get()), STDIN_FILENO);
  const char* arguments[] = {"dot", format.c_str(), "-o", path.c_str(), nullptr};
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, "dot", &actions, nullptr, const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    command_error("IOError", "there is no `dot`: Graphviz is not installed",
                  "install Graphviz, or give a file that ends in .dot");
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  check_interrupt();  // of which the child has died, too
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    command_error("IOError", fmt::format("Graphviz could not write '{}'", path));
  }
}

}  // namespace kiln::repl
