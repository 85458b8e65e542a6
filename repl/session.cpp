#include "repl/session.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "interpreter/values/natives.h"
#include "interpreter/vm/impl.h"
#include "lang/parse.h"
#include "repl/cell.h"
#include "repl/command.h"
#include "repl/debugger.h"
#include "repl/failure.h"
#include "repl/functions.h"
#include "repl/kept_settings.h"
#include "repl/lesson_progress.h"
#include "repl/model_tree.h"
#include "repl/pasted.h"
#include "repl/prompt_mark.h"
#include "repl/trace.h"
#include "repl/walk.h"
#include "tensor/interrupt.h"

namespace kiln::repl {

namespace {

Session* running = nullptr;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Session::Session(Options options)
    : options_(std::move(options)),
      interpreter_(make_interpreter()),
      log_(*interpreter_),
      settings_(std::make_unique<KeptSettings>(options_.settings_file)) {
  install_functions(*this);
}

std::unique_ptr<interp::Interpreter> Session::make_interpreter() {
  interp::Options settings;
  settings.arguments = options_.arguments;
  settings.interactive = options_.interactive;
  if (!options_.compiles_hot) settings.hot_after = -1;
  settings.backend = options_.backend;
  settings.capture_share = options_.capture_share;
  settings.out = [this](std::string_view text) {
    release_page();
    write(text);
  };
  settings.keeps_frames = true;
  settings.on_breakpoint = [this] { stop_at_breakpoint(*this); };
  settings.err = [this](std::string_view text) { write_error(text); };
  settings.frontend = options_.frontend;
  settings.help_for_name = [this](std::string_view name) { return log_.explain(name); };
  return std::make_unique<interp::Interpreter>(std::move(settings));
}

// A trace that was not ended ends with the session.
Session::~Session() {
  if (trace_) guarded({}, [&] { write(trace_->finish()); });
}

void Session::write(std::string_view text) {
  if (page_) {
    *page_ += text;
    return;
  }
  if (options_.out) return options_.out(text);
  result_.output += text;
}

// What `work` writes is shown in one piece. Once the program itself prints, or something goes wrong, text
// goes out as it comes: it belongs between what was and what is to come.
void Session::write_page(const std::function<void()>& work) {
  if (page_ || !options_.page) return work();
  page_.emplace();
  work();
  if (!page_) return;
  const std::string text = *std::exchange(page_, std::nullopt);
  if (text.empty()) return;
  const auto start = std::chrono::steady_clock::now();
  options_.page(text);
  reading_seconds_ += seconds_since(start);
}

void Session::release_page() {
  if (page_) write(*std::exchange(page_, std::nullopt));
}

void Session::write_error(std::string_view text) {
  release_page();
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

std::string Session::entry_name() const {
  const std::string part = texts_run_ == 0 ? std::string() : "." + std::to_string(texts_run_ + 1);
  return "<prompt:" + std::to_string(log_.current_number()) + part + ">";
}

interp::Interpreter::Outcome Session::run(std::string_view text) {
  std::string name = entry_name();
  ++texts_run_;
  return interpreter_->run(std::move(name), std::string(text));
}

void Session::show(const interp::Value& value) {
  if (value.is_none()) return;
  interpreter_->main().set("_", value);
  log_.keep(value);
  interpreter_->flush();
  if (options_.show_value) return options_.show_value(value);
  write_page([&] { write(shown(*interpreter_, value)); });
}

void Session::report(const lang::Diagnostic& diagnostic, bool full_trace) {
  interpreter_->impl().live_lines.leave();
  interpreter_->flush();
  if (options_.json) return write_error(lang::render_json(diagnostic) + "\n");
  // People look codes up; transcripts and logs are read without.
  const bool code = options_.interactive || options_.color_errors;
  write_error(lang::render(diagnostic, {options_.color_errors, full_trace, code, options_.links}));
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
  if (options_.show_failure) {
    options_.show_failure(failure.diagnostic);
  } else {
    report(failure.diagnostic);
  }
  const std::string kind = failure.diagnostic.kind;
  // A slip in a command is not what `:bt` is asked about.
  if (!failure.diagnostic.labels.empty()) last_error_ = std::move(failure.diagnostic);
  if (auto frames = std::exchange(interpreter_->impl().kept_frames, {});
      !frames.empty() && !is_command(entry))
    debugger_ = std::make_unique<Debugger>(std::move(frames));
  return failure.exit_code == kExitInterrupted ? Status::Interrupted : Status::Error;
}

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
  release_page();
  interpreter_->impl().live_lines.leave();
  interpreter_->flush();
  current_entry_ = {};
  return status;
}

Result Session::finish(Status status) {
  result_.status = status;
  return std::exchange(result_, Result{});
}

void Session::as_entry(std::string_view text, const std::function<void()>& work) {
  const int number = log_.begin(text);
  texts_run_ = 0;
  log_.define_names_in(text);
  const auto start = std::chrono::steady_clock::now();
  const double reading_before = reading_seconds_;
  const auto end = [&](bool failed) {
    log_.end(number, seconds_since(start) - (reading_seconds_ - reading_before), failed);
  };
  try {
    work();
  } catch (...) {
    end(true);
    throw;
  }
  end(false);
}

Result Session::eval(std::string_view entry) { return eval_whole(entry, true); }
Result Session::eval_last(std::string_view entry) { return eval_whole(entry, false); }

void Session::eval_part(const std::string& part) {
  bool is_done = false;
  if (is_command(part)) write_page([&] { is_done = run_command(*this, part); });
  if (is_done) return;
  eval_text(part);
  if (lesson_progress_) check_exercise(*this);
}

Result Session::eval_whole(std::string_view entry, bool may_go_on) {
  Status status = Status::Done;
  const std::string again = std::exchange(on_enter_, {});
  if (trim(entry).empty()) entry = again;
  for (const std::string& part : split_pasted(entry)) {
    if (trim(part).empty()) continue;
    if (may_go_on && !is_command(part) && lang::completeness(part) == lang::Completeness::Incomplete) {
      return finish(Status::Incomplete);
    }
    status = guarded(part, [&] { as_entry(part, [&] { eval_part(part); }); });
    if (status != Status::Done) break;
  }
  return finish(status);
}

// Each part stands below as many line ends as before it in the cell, so that errors name the lines of the
// cell.
void Session::eval_parts(std::string_view cell) {
  const std::size_t start = std::min(cell.find_first_not_of(" \t\r\n"), cell.size());
  if (prompt_length(cell.substr(start, cell.find('\n', start) - start)) > 0) {
    for (const std::string& entry : split_pasted(cell)) eval_part(entry);
    return;
  }
  for (const std::string_view part : split_cell(cell)) {
    if (trim(part).empty()) continue;
    const auto lines_before = std::count(cell.data(), part.data(), '\n');
    eval_part(std::string(static_cast<std::size_t>(lines_before), '\n') += part);
  }
}

Result Session::eval_cell(std::string_view cell, bool logged) {
  on_enter_.clear();
  return finish(guarded(cell, [&] {
    if (logged) return as_entry(cell, [&] { eval_parts(cell); });
    eval_parts(cell);
  }));
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
  log_.forget_values();
  interpreter_->reset();
  entries_.clear();
  script_.clear();
  last_error_.reset();
  walk_.reset();
  lesson_progress_.reset();
  debugger_.reset();
}

std::string shown(interp::Interpreter& interpreter, const interp::Value& value) {
  if (std::optional<std::string> tree = model_tree(interpreter, value)) return *std::move(tree);
  return interp::echo_of(interpreter, value) + "\n";
}

}  // namespace kiln::repl
