#include "repl/prompt.h"

#include <unistd.h>

#include <cstdio>
#include <optional>

#include "interpreter/values/natives.h"
#include "lang/parse.h"
#include "repl/command.h"
#include "repl/completion.h"
#include "repl/crash.h"
#include "repl/history.h"
#include "repl/interrupt.h"
#include "repl/line_editor.h"
#include "repl/pager.h"
#include "repl/paths.h"
#include "repl/prompt_mark.h"
#include "repl/rank_session.h"
#include "repl/terminal.h"
#include "repl/version.h"
#include "repl/work_note.h"
#include "tensor/parallel.h"

namespace kiln::repl {
namespace {

bool is_incomplete(std::string_view text) {
  return !is_command(text) && lang::completeness(text) == lang::Completeness::Incomplete;
}

// One line of standard input without its end; nothing at the end of input.
std::optional<std::string> read_line() {
  std::string line;
  for (int c = 0; (c = std::getc(stdin)) != '\n';) {
    if (c == EOF) {
      if (std::ferror(stdin) != 0 && kiln::interrupt_requested.exchange(false)) {
        std::clearerr(stdin);
        std::fputs("\n", stdout);
        return std::string();
      }
      if (line.empty()) return std::nullopt;
      break;
    }
    line += static_cast<char>(c);
  }
  return line;
}

// Of the prompt that comes next; 0: without a number.
int shown_number(Session& session) { return session.options().numbers ? session.log().next_number() : 0; }

// Reads entries a line at a time, with or without prompts.
class LineReader {
 public:
  LineReader(Session& session, bool prompts) : session_(session), prompts_(prompts) {}

  std::optional<std::string> read() {
    const int number = shown_number(session_);
    std::optional<std::string> entry = next(prompt_mark(number));
    while (entry && (is_incomplete(*entry) || goes_on(*entry))) {
      const std::optional<std::string> line = next(continuation_mark(number));
      if (!line) break;
      *entry += "\n" + *line;
    }
    return entry;
  }

 private:
  std::optional<std::string> next(std::string_view prompt) {
    if (ahead_) return std::exchange(ahead_, std::nullopt);
    if (prompts_) {
      std::fwrite(prompt.data(), 1, prompt.size(), stdout);
      std::fflush(stdout);
    }
    return read_line();
  }

  // In a pipe the next line can be seen: `else`, `catch` and `finally` on a line of their own belong to what
  // came before.
  bool goes_on(const std::string& entry) {
    if (prompts_ || !trim(entry).ends_with('}')) return false;
    if (!ahead_) ahead_ = read_line();
    if (!ahead_) return false;
    const std::string_view start = trim(*ahead_);
    return start.starts_with("else") || start.starts_with("catch") || start.starts_with("finally");
  }

  Session& session_;
  bool prompts_;
  std::optional<std::string> ahead_;
};

void fit_to_terminal(Session& session) {
  if (session.options().fits_width) interp::print_options().width = terminal_size(STDOUT_FILENO).columns;
}

// Evaluates; true when the conversation is over.
bool take(Session& session, const std::string& entry, int& exit_code) {
  kiln::interrupt_requested.store(false);
  const Result result = eval_on_ranks(session, entry, [&] { return session.eval(entry); });
  std::fflush(stdout);
  if (result.status == Status::Incomplete) std::fputs("the entry is not complete\n", stderr);
  if (result.status != Status::Quit) return false;
  exit_code = result.exit_code;
  return true;
}

// What is longer than the terminal goes through the pager.
void show_page(Session& session, std::string_view text) {
  const std::string pager = session.options().pages ? pager_command() : std::string();
  if (!pager.empty() && !fits_terminal(text, terminal_size(STDOUT_FILENO))) {
    session.interpreter().flush();
    std::fflush(stdout);
    hush_work_note();
    if (show_in_pager(pager, text)) return;
  }
  session.write(text);
}

int talk_edited(Session& session) {
  session.options().page = [&](std::string_view text) { show_page(session, text); };
  const std::string folder = state_folder();
  watch_crashes(folder, session);
  History history(folder.empty() ? folder : folder + "/history");
  LineEditor lines(
      history, {[](std::string_view text) { return !is_incomplete(text); },
                [&](std::string_view text, std::size_t cursor) { return complete(session, text, cursor); }});
  int exit_code = 0;
  const auto read = [&] {
    const int number = shown_number(session);
    return lines.read(prompt_mark(number), continuation_mark(number), session.color());
  };
  while (const auto entry = read()) {
    if (trim(*entry).empty() && !session.goes_on_with_enter()) continue;
    fit_to_terminal(session);
    const WorkNote note(session);
    if (take(session, *entry, exit_code)) break;
  }
  return exit_code;
}

int talk_plain(Session& session) {
  LineReader reader(session, true);
  int exit_code = 0;
  while (const auto entry = reader.read()) {
    if (trim(*entry).empty() && !session.goes_on_with_enter()) continue;
    if (take(session, *entry, exit_code)) return exit_code;
  }
  std::fputs("\n", stdout);
  return exit_code;
}

}  // namespace

int run_prompt(Session& session) {
  watch_interrupts(SecondInterrupt::Tell);
  session.write(paint("Kiln " + std::string(kVersion) + "  :help for help, Ctrl-D leaves", style::kFaint,
                      session.color()) +
                "\n");
  const bool smart = is_smart_terminal(STDIN_FILENO) && is_smart_terminal(STDOUT_FILENO);
  return smart ? talk_edited(session) : talk_plain(session);
}

int run_piped(Session& session) {
  LineReader reader(session, false);
  int exit_code = 0;
  while (const auto entry = reader.read()) {
    if (trim(*entry).empty()) continue;
    // What the end of input cut off is not incomplete any more: its syntax error is what there is to say.
    const Result result = eval_on_ranks(session, *entry, [&] { return session.eval_last(*entry); });
    if (exit_code == 0) exit_code = result.exit_code;
    if (result.status == Status::Quit) return result.exit_code != 0 ? result.exit_code : exit_code;
    if (result.status == Status::Interrupted) break;
  }
  return exit_code;
}

}  // namespace kiln::repl
