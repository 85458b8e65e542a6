#include "repl/session.h"

#include <filesystem>

#include "interpreter/values/natives.h"
#include "interpreter/vm/impl.h"
#include "lang/parse.h"
#include "repl/command.h"
#include "repl/debugger.h"
#include "repl/failure.h"
#include "repl/functions.h"
#include "repl/lesson_progress.h"
#include "repl/pasted.h"
#include "repl/walk.h"
#include "tensor/interrupt.h"

namespace kiln::repl {

Session::Session(Options options) : options_(std::move(options)) {
  interp::Options settings;
  settings.arguments = options_.arguments;
  settings.interactive = options_.interactive;
  if (!options_.compiles_hot) settings.hot_after = -1;
  settings.backend = options_.backend;
  settings.capture_share = options_.capture_share;
  settings.out = [this](std::string_view text) { write(text); };
  settings.keeps_frames = true;
  settings.on_breakpoint = [this] { stop_at_breakpoint(*this); };
  settings.err = [this](std::string_view text) { write_error(text); };
  interpreter_ = std::make_unique<interp::Interpreter>(std::move(settings));
  install_functions(*this);
}

Session::~Session() = default;

void Session::write(std::string_view text) {
  if (options_.out) return options_.out(text);
  result_.output += text;
}

void Session::write_error(std::string_view text) {
  if (options_.err) return options_.err(text);
  result_.diagnostics += text;
}

LessonProgress& Session::lesson_progress() {
  if (!lesson_progress_) {
    lesson_progress_ =
        std::make_unique<LessonProgress>(options_.state_folder ? options_.state_folder() : std::string());
  }
  return *lesson_progress_;
}

std::string Session::next_name() { return "<prompt:" + std::to_string(++count_) + ">"; }

interp::Interpreter::Outcome Session::run(std::string_view text) {
  return interpreter_->run(next_name(), std::string(text));
}

void Session::show(const interp::Value& value) {
  if (value.is_none()) return;
  interpreter_->main().set("_", value);
  interpreter_->flush();
  write(shown(*interpreter_, value));
}

void Session::report(const lang::Diagnostic& diagnostic, bool full_trace) {
  interpreter_->impl().live_lines.leave();
  interpreter_->flush();
  if (options_.json) return write_error(lang::render_json(diagnostic) + "\n");
  // People look codes up; transcripts and logs are read without.
  const bool code = options_.interactive || options_.color_errors;
  write_error(lang::render(diagnostic, {options_.color_errors, full_trace, code}));
}

void Session::eval_text(std::string_view text) {
  const interp::Interpreter::Outcome outcome = run(text);
  take_down(text);
  if (outcome.has_value) show(outcome.value);
}

Status Session::fail(std::string_view entry) {
  Failure failure = current_failure();
  result_.exit_code = failure.exit_code;
  if (failure.fault == Failure::Fault::Exit) return Status::Quit;
  if (failure.fault == Failure::Fault::Internal) {
    const std::string path =
        write_reproduction(options_.state_folder ? options_.state_folder() : std::string(), script(),
                           std::string(entry), failure.cause);
    failure.diagnostic.help = path.empty()
                                  ? "the session goes on, with every variable"
                                  : "the session goes on; a script that reproduces this is in " + path;
  }
  report(failure.diagnostic);
  const std::string kind = failure.diagnostic.kind;
  // A slip in a command is not what `:bt` is asked about.
  if (!failure.diagnostic.labels.empty()) last_error_ = std::move(failure.diagnostic);
  if (auto frames = std::exchange(interpreter_->impl().kept_frames, {});
      !frames.empty() && !is_command(entry))
    debugger_ = std::make_unique<Debugger>(std::move(frames));
  return failure.exit_code == kExitInterrupted ? Status::Interrupted : Status::Error;
}

namespace {

Session* running = nullptr;

}  // namespace

Session* Session::current() { return running; }

Status Session::guarded(std::string_view entry, const std::function<void()>& work) {
  Status status = Status::Done;
  result_.exit_code = 0;
  current_entry_ = entry;
  Session* const before = std::exchange(running, this);
  try {
    work();
    check_interrupt();  // which may have come where nothing looked any more, or while the terminal took a
                        // text
  } catch (...) {
    status = fail(entry);
  }
  running = before;
  interpreter_->impl().live_lines.leave();
  interpreter_->flush();
  current_entry_ = {};
  return status;
}

Result Session::finish(Status status) {
  result_.status = status;
  return std::exchange(result_, Result{});
}

Result Session::eval(std::string_view entry) {
  Status status = Status::Done;
  const std::string again = std::exchange(on_enter_, {});
  if (trim(entry).empty()) entry = again;
  for (const std::string& part : split_pasted(entry)) {
    if (!is_command(part) && lang::completeness(part) == lang::Completeness::Incomplete) {
      return finish(Status::Incomplete);
    }
    status = guarded(part, [&] {
      if (run_command(*this, part)) return;
      eval_text(part);
      if (lesson_progress_) check_exercise(*this);
    });
    if (status != Status::Done) break;
  }
  return finish(status);
}

Result Session::eval_script(const std::string& path) {
  std::string text;
  const Status status = guarded({}, [&] { text = read_text(path); });
  if (status == Status::Done) {
    std::error_code ignored;
    interpreter_->main().path = std::filesystem::weakly_canonical(path, ignored).string();
    return eval_program(path, std::move(text), false);
  }
  result_.exit_code = kExitUsage;
  return finish(status);
}

Result Session::eval_file(const std::string& path) {
  return finish(guarded("# " + path, [&] { load(path); }));
}

Result Session::eval_program(const std::string& name, std::string text, bool autoprint) {
  return finish(guarded(text, [&] {
    const interp::Interpreter::Outcome outcome = interpreter_->run(name, text);
    take_down(text);
    if (autoprint && outcome.has_value) show(outcome.value);
  }));
}

void Session::load(const std::string& path) {
  std::string text = read_text(path);
  last_loaded_ = path;
  interpreter_->run(path, text);
  take_down(text);
}

void Session::take_down(std::string_view entry) {
  entries_.emplace_back(entry);
  script_ += entry;
  if (!entry.ends_with('\n')) script_ += '\n';
}

void Session::reset() {
  interpreter_->reset();
  entries_.clear();
  script_.clear();
  last_error_.reset();
  walk_.reset();
  lesson_progress_.reset();
  debugger_.reset();
}

std::string shown(interp::Interpreter& interpreter, const interp::Value& value) {
  if (!value.is(interp::Tag::Tensor)) return interpreter.repr(value) + "\n";
  const Tensor tensor = value.as_tensor();
  return interp::tensor_summary(tensor) + "\n" + interp::tensor_values(tensor, interp::print_options()) +
         "\n";
}

}  // namespace kiln::repl
