// Owns the command line of `kiln`: what may be given, what it means, and what to say when it is wrong.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::repl {

enum class Mode {
  Prompt,
  Run,
  Script,
  Code,
  Build,
  Report,
  Format,
  Check,
  Test,
  Explain,
  LanguageServer,
  Version,
  Help
};

struct CommandLine {
  Mode mode = Mode::Prompt;
  std::string script;                       // "-" is standard input
  std::string code;                         // of all `-e`, a line each
  std::string entry;                        // of build: the function
  std::string output;                       // of report: the page
  std::vector<std::string> files;           // of fmt, check, test; of explain the code
  std::vector<std::string> arguments;       // the program's `args`; of run what stands behind it
  std::vector<std::string> options_before;  // of run: what stands before it, which each rank is given, too
  bool prompt_after = false;                // -i
  bool check = false;                       // --check: of compiled calls, or of files by fmt
  bool no_color = false;
  bool json = false;
  bool no_init = false;
  std::string trace;  // where to write what time went to; empty: nowhere
  std::string device;
  std::string threads;
  std::string backend;
  bool no_hot = false;
};

// What is wrong with a command line: one sentence, and perhaps a suggestion.
struct UsageError {
  std::string message;
  std::string help;
};

// Throws UsageError. `arguments` are those after the program's name.
CommandLine parse_command_line(std::span<const char* const> arguments);

// Of how many words the option at the front consists: 0 where the first word is no option.
std::size_t words_of_option(std::span<const std::string> words);

std::string usage_text();

}  // namespace kiln::repl
