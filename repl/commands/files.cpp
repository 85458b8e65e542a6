// Commands that read and write files: load reload save edit.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "repl/command.h"
#include "repl/definition.h"
#include "repl/documentation.h"
#include "repl/work_note.h"
#include "repl/write_text.h"
#include "tensor/how_many.h"

extern char** environ;

namespace kiln::repl {
namespace {

// A path as typed: quotes and a leading ~ are understood.
std::string path_of(std::string_view argument) {
  if (argument.size() >= 2 && (argument.front() == '"' || argument.front() == '\'') &&
      argument.back() == argument.front()) {
    argument = argument.substr(1, argument.size() - 2);
  }
  const char* home = std::getenv("HOME");
  if (home != nullptr && (argument == "~" || argument.starts_with("~/"))) {
    return home + std::string(argument.substr(1));
  }
  return std::string(argument);
}

void load(Session& session, std::string_view argument) {
  if (argument.empty()) usage_error(*find_command("load"), "name a file");
  session.load(path_of(argument));
}

void reload(Session& session, std::string_view argument) {
  if (argument.empty()) {
    if (session.last_loaded().empty()) usage_error(*find_command("reload"), "no file was loaded yet");
    return session.load(session.last_loaded());
  }
  std::string path = path_of(argument);
  const auto value = find_value(session, argument);
  if (value && value->is(interp::Tag::Module)) path = value->as<interp::Module>().path;
  if (path.empty()) {
    command_error("ValueError", fmt::format("`{}` is part of kiln and does not change", argument));
  }
  if (path == session.last_loaded()) return session.load(path);
  session.interpreter().reload(path);
}

void save(Session& session, std::string_view argument) {
  if (argument.empty()) usage_error(*find_command("save"), "name a file to write");
  const std::string path = path_of(argument);
  write_text(path, session.script());
  session.write(
      fmt::format("wrote {} to {}\n", how_many(session.entries().size(), "entry", "entries"), path));
}

std::string editor() {
  for (const char* variable : {"VISUAL", "EDITOR"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && value[0] != '\0') return value;
  }
  command_error("ValueError", "no editor is set",
                "set the environment variable EDITOR, for example to `nano`");
}

// Runs `$EDITOR path` through the shell, which splits what EDITOR holds.
void run_editor(const std::string& path) {
  const std::string script = editor() + " \"$1\"";
  const char* arguments[] = {"sh", "-c", script.c_str(), "kiln", path.c_str(), nullptr};
  hush_work_note();
  pid_t child = 0;
  if (posix_spawn(&child, "/bin/sh", nullptr, nullptr, const_cast<char* const*>(arguments), environ) != 0) {
    command_error("IOError", fmt::format("cannot start the editor: {}", std::strerror(errno)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    command_error("ValueError", "the editor ended with an error; nothing was run");
  }
}

// A private file that goes when the edit is over.
struct DraftFile {
  std::string path = "/tmp/kiln-XXXXXX.kiln";
  DraftFile() {
    const int descriptor = mkstemps(path.data(), 5);
    if (descriptor < 0)
      command_error("IOError", fmt::format("cannot write in /tmp: {}", std::strerror(errno)));
    close(descriptor);
  }
  ~DraftFile() { unlink(path.c_str()); }
};

// What `:edit` starts from: the named definition, else the last entry.
std::string draft(Session& session, std::string_view argument) {
  if (argument.empty()) return session.entries().empty() ? std::string() : session.entries().back();
  const auto value = find_value(session, argument);
  const auto definition = value ? definition_of(*value) : std::nullopt;
  if (!definition) command_error("ValueError", fmt::format("`{}` has no source to edit", argument));
  return definition->text;
}

bool is_file(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

void edit(Session& session, std::string_view argument) {
  const std::string path = path_of(argument);
  if (!argument.empty() && (is_file(path) || argument.ends_with(".kiln"))) {
    run_editor(path);
    return session.load(path);
  }
  const DraftFile file;
  const std::string before = draft(session, argument);
  write_text(file.path, before + "\n");
  run_editor(file.path);
  const std::string text = read_text(file.path);
  const std::string after(trim(text));
  if (after.empty() || after == before) return session.write("nothing changed\n");
  session.write(after + "\n");
  session.eval_text(after);
}

constexpr std::array<Command, 4> kFilesCommands{{
    {"load",
     "file",
     "Files",
     "run a file; its names become the session's",
     "Relative to where kiln was started.\n",
     load,
     no_function("`import` takes names of a file"),
     {},
     true},
    {"reload",
     "[file or module]",
     "Files",
     "run a changed file again; without a name, the last one loaded",
     "A reloaded module keeps its identity: code that imported it sees the new functions.\n",
     reload,
     no_function("a program reads its files when it begins"),
     {},
     true},
    {"save",
     "file",
     "Files",
     "the session as a script: every entry that ran without error",
     "kiln> x = 2\nkiln> :save /tmp/kiln-help-example.kiln\n",
     save,
     no_function("a program is a file already"),
     {},
     true},
    {"edit", "[name or file]", "Files", "the last entry, a function or a file in $EDITOR, then run it", "",
     edit, no_function("an editor is for people at a terminal")},
}};

}  // namespace

std::span<const Command> file_commands() { return kFilesCommands; }

}  // namespace kiln::repl
