// Owns the form of a command of the prompt and the table of all of them. Each file of commands/ exports a
// part.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "repl/session.h"

namespace kiln::repl {

// What does in a program what a command does: an expression of the language about `f`, `g` and `x`, which
// tests run, or why there is none.
struct InPrograms {
  std::string_view expression;
  std::string_view why_none = {};
};
constexpr InPrograms in_programs(std::string_view expression) { return {expression}; }
constexpr InPrograms no_function(std::string_view why) { return {{}, why}; }

// A row of the table. The help page may hold examples: lines that begin with "kiln> " are entries, and tests
// run all of them.
struct Command {
  std::string_view name;     // without the colon
  std::string_view usage;    // what follows the name: "e", "[topic]"
  std::string_view group;    // heading in `:help`
  std::string_view summary;  // one line
  std::string_view page;     // the help page under the summary
  // `argument` is what follows the name, trimmed. Throws UserError.
  void (*run)(Session& session, std::string_view argument);
  InPrograms in_programs{};
  // For completion: words that the argument may begin with, a blank between; and whether it is a file.
  std::string_view words = {};
  bool takes_files = false;
};

std::span<const Command> asking_commands();      // help doc source apropos
std::span<const Command> explaining_commands();  // explain
std::span<const Command> looking_commands();     // who type mem bt
std::span<const Command> device_commands();      // devices
std::span<const Command> rank_commands();        // ranks
std::span<const Command> timing_commands();      // time timeit
std::span<const Command> profiling_commands();   // profile trace
std::span<const Command> overview_commands();    // stages
std::span<const Command> stage_commands();       // captured functional fused … graph diff passes pass
std::span<const Command> kernel_commands();      // kernels check
std::span<const Command> backend_commands();     // backend
std::span<const Command> picture_commands();     // dot html export
std::span<const Command> debugging_commands();   // debug
std::span<const Command> walking_commands();     // step nan
std::span<const Command> entry_commands();       // guards entries breaks why hot
std::span<const Command> file_commands();        // load reload save edit
std::span<const Command> lesson_commands();      // lesson
std::span<const Command> log_commands();         // show
std::span<const Command> session_commands();     // reset set shell quit

const std::vector<const Command*>& all_commands();
const Command* find_command(std::string_view name);  // null when there is none

// Is the entry for the prompt and not for the language?
bool is_command(std::string_view entry);
// Runs it if it is one. Throws UserError; an unknown command names the nearest.
bool run_command(Session& session, std::string_view entry);

std::string_view trim(std::string_view text);

// An error of a command: how it is used is the help.
[[noreturn]] void usage_error(const Command& command, std::string message);
[[noreturn]] void command_error(std::string_view kind, std::string message, std::string help = {});

}  // namespace kiln::repl
