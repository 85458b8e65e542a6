#include "repl/debugger.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "interpreter/text/print_tensor.h"
#include "interpreter/vm/impl.h"
#include "repl/columns.h"
#include "repl/command.h"
#include "repl/terminal.h"

namespace kiln::repl {
namespace {

using interp::KeptFrame;

constexpr std::size_t kMostShown = 40;  // columns of a variable's text

bool is_of_library(const KeptFrame& frame) { return frame.span && frame.span.file->is_library(); }

std::string place_of(const KeptFrame& frame) {
  if (!frame.span) return "the host";
  return fmt::format("{}:{}", frame.span.file->name(), frame.span.file->locate(frame.span.begin).line);
}

std::string_view line_of(const KeptFrame& frame) {
  return frame.span ? trim(frame.span.file->line(frame.span.file->locate(frame.span.begin).line))
                    : std::string_view();
}

// "x: f32[3]" for tensors, "n = 3" for what is short, the kind of anything else.
std::string variable_text(Session& session, const std::string& name, const interp::Value& value) {
  if (value.is(interp::Tag::Tensor)) return fmt::format("{}: {}", name, interp::describe(value));
  if (value.is_number() || value.is(interp::Tag::Str) || value.is(interp::Tag::Bool) || value.is_none()) {
    const std::string text = session.interpreter().repr(value);
    if (text.size() <= kMostShown) return fmt::format("{} = {}", name, text);
  }
  return fmt::format("{}: {}", name, interp::describe(value));
}

}  // namespace

Debugger::Debugger(std::vector<KeptFrame> frames) : frames_(std::move(frames)) {
  const auto own = std::ranges::find_if_not(frames_, is_of_library);
  at_ = own == frames_.end() ? 0 : static_cast<std::size_t>(own - frames_.begin());
}

void Debugger::show_variables(Session& session) const {
  const KeptFrame& frame = frames_[at_];
  std::string text;
  for (const auto& [name, value] : frame.locals)
    text += (text.empty() ? "" : ", ") + variable_text(session, name, value);
  if (frame.function.empty()) text = "those of the session";
  session.write(
      wrapped(fmt::format("variables: {}", text.empty() ? "none" : text), interp::print_options().width, 2) +
      "\n");
}

// Both ends of a long row of calls, and those around the one that it stands at.
bool Debugger::is_shown(std::size_t frame) const {
  constexpr std::size_t kShown = 5;
  const std::size_t apart = frame > at_ ? frame - at_ : at_ - frame;
  return frame < kShown || frame + kShown >= frames_.size() || apart < kShown;
}

void Debugger::show(Session& session) const {
  std::size_t hidden = 0;
  for (std::size_t k = 0; k < frames_.size(); ++k) {
    if (!is_shown(k)) {
      ++hidden;
      continue;
    }
    if (hidden > 0) session.write(fmt::format("… {} more call{}\n", hidden, hidden == 1 ? "" : "s"));
    hidden = 0;
    const KeptFrame& frame = frames_[k];
    const std::string where = fmt::format("{} {}  {}{}", k == at_ ? "*" : " ", k, place_of(frame),
                                          frame.function.empty() ? "" : " in " + frame.function);
    session.write(paint(where, k == at_ ? style::kHeading : style::kFaint, session.color()) + "\n");
    if (const std::string_view line = line_of(frame); !line.empty())
      session.write(fmt::format("      | {}\n", line));
  }
  show_variables(session);
}

void Debugger::go_to(std::size_t frame) {
  if (frame >= frames_.size())
    command_error("ValueError", fmt::format("the calls are 0 to {}", frames_.size() - 1));
  at_ = frame;
}

void Debugger::take(Session& session, std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (text == "up" || text == "down" || is_number) {
    if (text == "down" && at_ == 0) command_error("ValueError", "this is the innermost call");
    if (text == "up" && at_ + 1 == frames_.size()) command_error("ValueError", "this is the outermost call");
    go_to(is_number ? number : text == "up" ? at_ + 1 : at_ - 1);
    return show(session);
  }
  if (text.empty()) return show(session);
  const interp::Value value = interp::run_in(session.interpreter(), frames_[at_], session.entry_name(), text);
  if (!value.is_none()) session.write(shown(session.interpreter(), value));
}

void stop_at_breakpoint(Session& session) {
  interp::Interpreter& interpreter = session.interpreter();
  Debugger debugger(interp::keep_frames(interpreter.impl().vm));
  session.write("breakpoint: an expression, up, down, c goes on, q ends the program\n");
  debugger.show(session);
  const interp::Value input = *interpreter.prelude().find("input");
  for (;;) {
    std::string line;
    try {
      line = interpreter.str(interpreter.call(input, {interp::Value("debug> ")}));
    } catch (const lang::UserError& error) {
      if (error.diagnostic().kind == "Interrupted") throw;
      return;  // the end of input
    }
    const std::string_view text = trim(line);
    if (text == "c" || text == "continue") return;
    if (text == "q" || text == "quit") command_error("Interrupted", "ended at a breakpoint");
    try {
      debugger.take(session, text);
    } catch (const lang::UserError& error) {
      session.report(error.diagnostic());
    }
  }
}

}  // namespace kiln::repl
