// Commands that draw the stages of a call: dot html.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "interpreter/host/graph_stages.h"
#include "interpreter/values/graph_value.h"
#include "jit/graph/dot.h"
#include "repl/page/write_page.h"
#include "repl/write_text.h"
#include "tensor/interrupt.h"

namespace kiln::repl {
namespace {

namespace fs = std::filesystem;

// "f(x) file.svg" as the call and the file; no file when the last word is none of these kinds.
struct Drawing {
  std::string_view call;
  std::string path;
};
Drawing split_file(std::string_view command, std::string_view text, std::span<const std::string_view> kinds) {
  const std::size_t blank = text.find_last_of(" \t");
  if (blank == std::string_view::npos) return {text, {}};
  const std::string_view word = text.substr(blank + 1);
  for (const std::string_view kind : kinds) {
    if (word.ends_with(kind)) return {trim(text.substr(0, blank)), std::string(word)};
  }
  if (!two_expressions(text).second.empty()) {
    usage_error(*find_command(command), fmt::format("the file must end in {}", fmt::join(kinds, ", ")));
  }
  return {text, {}};
}

// ---- Graphviz ----

// Runs Graphviz on a text; the end of the path says what it makes.
void draw(const std::string& text, const std::string& path) {
  const std::string format = "-T" + fs::path(path).extension().string().substr(1);
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

// "net.svg" for the first graph of a call, "net-2.svg" for the second.
std::string numbered(const std::string& path, std::size_t index) {
  if (index == 0) return path;
  const fs::path whole(path);
  return (whole.parent_path() /
          fmt::format("{}-{}{}", whole.stem().string(), index + 1, whole.extension().string()))
      .string();
}

void dot(Session& session, std::string_view text) {
  static constexpr std::array<std::string_view, 4> kKinds{".svg", ".png", ".pdf", ".dot"};
  const Drawing drawing = split_file("dot", text, kKinds);
  const interp::host::CapturedCall call = drawn_call(session, written_call(session, "dot", drawing.call));
  const auto& functional = interp::host::stage_named("functional");
  const auto graphs = call.graphs();
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const interp::Value stage = interp::host::stage_value(functional, *graphs[i], call.remove);
    const std::string picture = jit::dot_text(interp::graph_of(stage));
    if (drawing.path.empty()) {
      session.write(picture);
      continue;
    }
    const std::string path = numbered(drawing.path, i);
    if (path.ends_with(".dot")) {
      write_text(path, picture);
    } else {
      draw(picture, path);
    }
    session.write(fmt::format("wrote {}\n", path));
  }
}

// ---- A page ----

void html(Session& session, std::string_view text) {
  static constexpr std::array<std::string_view, 2> kKinds{".html", ".htm"};
  const Drawing drawing = split_file("html", text, kKinds);
  const WrittenCall written = written_call(session, "html", drawing.call);
  const std::string path = write_page(session, drawing.call, written, drawing.path);
  session.write(fmt::format("wrote {}\n", path));
}

constexpr std::array<Command, 2> kCommands{{
    {"dot", "f(x) [file.svg]", "Compiling", "a picture of the functional graph, through Graphviz",
     "The file may end in .svg, .png, .pdf or .dot; without a file the text for Graphviz is shown.\n\n"
     "kiln> :dot cos(ones(3))\n",
     dot, in_programs("graph(f, x).dot()")},
    {"html", "f(x) [file.html]", "Compiling",
     "a page of all stages, linked line by line, with the graph drawn",
     "Two stages stand side by side. A line under the pointer lights what it came from, and what became of "
     "it,\n"
     "down to instructions. The page needs no network. Without a file it is written to a temporary one.\n\n"
     "kiln> :html cos(ones(3))\n",
     html, in_programs("html(f, x)")},
}};

}  // namespace

std::span<const Command> picture_commands() { return kCommands; }

}  // namespace kiln::repl
