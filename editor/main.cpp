// The command `kiln-language-server`: messages of an editor on standard input, answers on standard output.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <vector>

#include "editor/server.h"

namespace {

using kiln::editor::MessageReader;
using kiln::editor::Server;

// Keeps the way to the editor to itself: whatever else writes to standard output writes to nowhere.
int take_standard_output() {
  const int editor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  close(nowhere);
  return editor;
}

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = write(descriptor, text.data(), text.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // the editor has gone; its end of input follows
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// False at the end of input.
bool read_some(MessageReader& reader) {
  std::array<char, 65536> piece;
  const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  reader.add({piece.data(), static_cast<std::size_t>(got)});
  return true;
}

int run(int editor) {
  Server server(
      [editor](const kiln::editor::Json& message) { write_all(editor, kiln::editor::framed(message)); });
  MessageReader reader;
  for (;;) {
    std::vector<pollfd> watched = {{STDIN_FILENO, POLLIN, 0}};
    server.workspace().add_watched(watched);
    if (poll(watched.data(), watched.size(), server.workspace().patience()) < 0 && errno != EINTR) return 1;
    if (watched.front().revents != 0 && !read_some(reader)) return 1;
    while (const auto message = reader.next()) {
      server.receive(*message);
      if (server.exit_code()) return *server.exit_code();
    }
    server.workspace().go_on();
  }
}

}  // namespace

int main() {
  std::signal(SIGPIPE, SIG_IGN);
  return run(take_standard_output());
}
