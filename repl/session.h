// Owns a conversation with the language: takes entries one by one and gives what they print. Needs no
// terminal.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/interpreter.h"
#include "lang/diagnostic.h"
#include "repl/entry_log.h"

namespace kiln::repl {

enum class Status {
  Done,
  Error,        // a diagnostic was given; every binding is kept
  Incomplete,   // more text is needed; nothing was run
  Quit,         // `:quit` or `exit(code)`
  Interrupted,  // Ctrl-C; every binding is kept
};

struct Result {
  std::string output;       // for stdout
  std::string diagnostics;  // for stderr
  Status status = Status::Done;
  int exit_code = 0;  // the process's, were it to end now
};

class LessonProgress;
class Debugger;
class KeptSettings;
class Trace;
class Walk;

class Session {
 public:
  using Sink = std::function<void(std::string_view)>;
  struct Options {
    std::vector<std::string> arguments;  // the program's `args`
    bool interactive = false;
    bool fits_width = false;    // printed values fit the terminal as it is at each entry
    std::string settings_file;  // where `:set` keeps what is worth it; "" is nowhere
    bool pages = true;          // long texts at a terminal go through a pager
    bool numbers = false;       // of entries, in prompts
    bool color = false;         // in results and help
    bool color_errors = false;
    bool links = false;  // places in files are links of the terminal
    bool json = false;   // diagnostics as JSON lines
    bool compiles_hot = true;
    std::string backend = "fused";  // of functions that become hot
    double capture_share = 0;       // see interp::Options
    // Where scripts that reproduce an internal failure go, asked for when there is one; "" is nowhere.
    std::function<std::string()> state_folder;
    Sink out, err;  // when set, text goes there as it comes and not into the Result
    // When set, what a command or a printed value wrote goes here in one piece; what programs print does not.
    Sink page;
    // Where there is no terminal, what takes the place of its text (interp::Frontend, and here): each may be
    // empty.
    interp::Frontend frontend;
    std::function<void(const interp::Value& value)> show_value;       // of an expression
    std::function<void(const lang::Diagnostic& error)> show_failure;  // the error that ended an entry
    std::function<void(const std::string& html)> show_page;           // a page that is given no file
  };

  explicit Session(Options options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Runs one entry: text of the language, a `:command`, `?name`, `??name`, or a pasted transcript of several.
  // An empty one goes on with what the last one began. Never throws.
  Result eval(std::string_view entry);
  // The same where no more text can come: what is not complete is a syntax error.
  Result eval_last(std::string_view entry);
  // Runs a cell of a notebook as one entry: the parts of it (repl/cell.h) one after the other, until one
  // fails. A cell that is not to be `logged` has no number, and its value no name. Never throws.
  Result eval_cell(std::string_view cell, bool logged = true);

  // Runs a file as the main program: imports are relative to it. A file that cannot be read is wrong usage.
  Result eval_script(const std::string& path);
  // Runs a file in the session's module: its names become the session's. Never throws.
  Result eval_file(const std::string& path);
  // Runs a program's text under a name; the last expression's value is printed when `autoprint`. Never
  // throws.
  Result eval_program(const std::string& name, std::string text, bool autoprint);

  // The one whose entry runs now; null outside of entries.
  static Session* current();

  // ---- For commands. These throw UserError. ----

  interp::Interpreter& interpreter() { return *interpreter_; }
  Options& options() { return options_; }
  bool color() const { return options_.color; }
  void write(std::string_view text);
  void write_error(std::string_view text);
  // Runs text as a part of the entry under way, without printing.
  interp::Interpreter::Outcome run(std::string_view text);
  // Runs text, takes it down for `script()` and prints the last value: an entry that is not a command.
  void eval_text(std::string_view text);
  // Reads and runs a file in the session's module.
  void load(const std::string& path);
  // Prints a value as autoprint does and makes it `_`; none prints nothing.
  void show(const interp::Value& value);
  void report(const lang::Diagnostic& diagnostic, bool full_trace = false);
  // The last error, for `:bt`.
  const std::optional<lang::Diagnostic>& last_error() const { return last_error_; }
  // The walk under way, null when there is none (repl/walk.h).
  std::unique_ptr<Walk>& walk() { return walk_; }
  // The trace that is being recorded (repl/trace.h), null while nothing is recorded.
  std::unique_ptr<Trace>& trace() { return trace_; }
  // The lesson under way, and what was done of all (repl/lesson_progress.h).
  LessonProgress& lesson_progress();
  // What `:set` changed, in this session and in earlier ones (repl/kept_settings.h).
  KeptSettings& settings() { return *settings_; }
  // The calls of the last error, null when there is none (repl/debugger.h).
  std::unique_ptr<Debugger>& debugger() { return debugger_; }
  // What Enter alone does after this entry.
  void on_enter(std::string entry) { on_enter_ = std::move(entry); }
  bool goes_on_with_enter() const { return !on_enter_.empty(); }
  // Entries and loaded files that ran without error, as one script.
  const std::string& script() const { return script_; }
  // What runs now, for a report should the process die of it.
  std::string_view current_entry() const { return current_entry_; }
  EntryLog& log() { return log_; }
  // Takes part in the log as an entry of its own, as if it had been typed; `work` runs it.
  void as_entry(std::string_view text, const std::function<void()>& work);
  const std::vector<std::string>& entries() const { return entries_; }
  const std::string& last_loaded() const { return last_loaded_; }
  void reset();
  // The name of the next text of the entry under way: "<prompt:3>", and "<prompt:3.2>" for the second one
  // that a command runs, as places are looked up by name.
  std::string entry_name() const;

 private:
  std::unique_ptr<interp::Interpreter> make_interpreter();
  Status guarded(std::string_view entry, const std::function<void()>& work);
  Status fail(std::string_view entry);
  Result eval_whole(std::string_view entry, bool may_go_on);
  void eval_parts(std::string_view cell);
  void eval_part(const std::string& part);
  void write_page(const std::function<void()>& work);
  void release_page();
  Result finish(Status status);
  void take_down(std::string_view entry);

  Options options_;
  std::unique_ptr<interp::Interpreter> interpreter_;
  EntryLog log_;
  int texts_run_ = 0;  // of the entry under way
  Result result_;
  std::optional<std::string> page_;  // what the command under way wrote so far
  double reading_seconds_ = 0;       // that pages were on the terminal for
  std::vector<std::string> entries_;
  std::string script_;
  std::string_view current_entry_;
  std::string last_loaded_;
  std::optional<lang::Diagnostic> last_error_;
  std::unique_ptr<Walk> walk_;
  std::unique_ptr<Trace> trace_;
  std::unique_ptr<LessonProgress> lesson_progress_;  // when first asked for
  std::unique_ptr<KeptSettings> settings_;
  std::unique_ptr<Debugger> debugger_;
  std::string on_enter_;
};

// A value as the prompt prints it, ending in a newline: a tensor as a summary line and fitted values, a model
// as a tree of its parts, what is long elided.
std::string shown(interp::Interpreter& interpreter, const interp::Value& value);

// The text of a file. Throws UserError (IOError) for what is missing, unreadable, a folder, or not text.
std::string read_text(const std::string& path);

}  // namespace kiln::repl
