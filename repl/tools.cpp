#include "repl/tools.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>

#include "interpreter/check/program.h"
#include "lang/parse.h"
#include "repl/failure.h"
#include "repl/program_files.h"
#include "repl/session.h"
#include "repl/terminal.h"
#include "repl/write_text.h"
#include "tensor/own_folder.h"

namespace kiln::repl {
namespace {

// Runs `work` on each file; an error in one, or a folder that cannot be read, is reported and the others go
// on. Gives the worst exit code.
int for_each_file(const CommandLine& line,
                  const std::function<int(const std::string&, lang::Sources&)>& work) {
  int worst = kExitDone;
  lang::Sources sources;  // diagnostics point into them
  const ProgramFiles files = find_programs(line.files);
  for (const lang::Diagnostic& failure : files.unreadable) {
    write_diagnostic(failure, line);
    worst = kExitUsage;
  }
  for (const std::string& path : files.paths) {
    int code = kExitDone;
    try {
      code = work(path, sources);
    } catch (...) {
      const Failure failure = current_failure();
      write_diagnostic(failure.diagnostic, line);
      // Whatever went wrong with the file itself, it was not looked at.
      code = kExitUsage;
    }
    worst = std::max(worst, code);
  }
  return worst;
}

}  // namespace

void write_diagnostic(const lang::Diagnostic& diagnostic, const CommandLine& line) {
  std::fflush(stdout);
  const bool color = !line.no_color && wants_color(STDERR_FILENO);
  const std::string text =
      line.json ? lang::render_json(diagnostic) + "\n"
                : lang::render(diagnostic, {.color = color, .links = color && shows_links(STDERR_FILENO)});
  std::fwrite(text.data(), 1, text.size(), stderr);
}

int run_format(const CommandLine& line) {
  return for_each_file(line, [&](const std::string& path, lang::Sources& sources) {
    const std::string before = read_text(path);
    const std::string after = lang::format(sources.add(path == "-" ? "<stdin>" : path, before));
    if (path == "-" && !line.check) {
      std::fwrite(after.data(), 1, after.size(), stdout);
      return kExitDone;
    }
    if (before == after) return kExitDone;
    if (!line.check) {
      write_text(path, after);
      return kExitDone;
    }
    std::printf("%s\n", path.c_str());
    return kExitError;
  });
}

int run_check(const CommandLine& line) {
  return for_each_file(line, [&](const std::string& path, lang::Sources&) {
    const bool is_input = path == "-";
    std::error_code failed;
    const std::string canonical = is_input ? "" : std::filesystem::weakly_canonical(path, failed).string();
    const auto checked =
        interp::check::check_program(is_input ? "<stdin>" : path, read_text(path), canonical);
    for (const lang::Diagnostic& mistake : checked.mistakes) write_diagnostic(mistake, line);
    return checked.mistakes.empty() ? kExitDone : kExitError;
  });
}

int run_language_server() {
  const auto program = kiln::own_folder() / "kiln-language-server";
  execl(program.c_str(), program.c_str(), nullptr);
  throw UsageError{
      "the language server, " + program.string() + ", cannot be started: " + std::strerror(errno), {}};
}

}  // namespace kiln::repl
