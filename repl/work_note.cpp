#include "repl/work_note.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "repl/terminal.h"
#include "tensor/held_signals.h"
#include "tensor/interrupt_look.h"

namespace kiln::repl {
namespace {

using timeline::Kind;
using timeline::Phase;

void say(const std::string& text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

// The beginning of a text that takes at most so many columns.
std::string cut(const std::string& text, int columns) {
  int used = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins_letter = (static_cast<unsigned char>(text[at]) & 0xc0U) != 0x80U;
    if (begins_letter && ++used > columns) return text.substr(0, at);
  }
  return text;
}

}  // namespace

// The name is that of the function, which the outer phases have; what is done is told by the inner ones.
std::string phase_text(std::span<const Phase> phases) {
  std::string captured, compiled;
  for (const Phase& each : phases) {
    if (each.kind == Kind::Capture) captured = each.name, compiled.clear();
    if (each.kind == Kind::Compile && compiled.empty()) compiled = each.name;
  }
  const Phase* const inner = phases.empty() ? nullptr : &phases.back();
  if (inner != nullptr && inner->kind == Kind::Wait) return "waiting for kernels";
  if (compiled.empty()) return captured.empty() ? "running" : "capturing " + captured;
  if (inner->kind == Kind::Compile && inner->name == timeline::kDifferentiate)
    return "differentiating " + compiled;
  std::string text = "compiling " + compiled + "…";
  for (const Phase& each : phases)
    if (each.parts > 0) text += fmt::format(" {}/{} kernels", each.done, each.parts);
  return text;
}

struct WorkNote::State {
  explicit State(Session& s)
      : session(s), out(s.options().out), err(s.options().err), holds(interrupt_holds()) {
    session.options().out = [this](std::string_view text) { pass(out, text); };
    session.options().err = [this](std::string_view text) { pass(err, text); };
    if (!is_smart_terminal(STDERR_FILENO)) return;
    // Ctrl-C is for the thread that runs the program: it may be inside a blocking call.
    const HeldSignals held;
    watcher = std::thread([this] { watch(); });
  }

  ~State() {
    hush();
    wake.notify_one();
    if (watcher.joinable()) watcher.join();
    session.options().out = std::move(out);
    session.options().err = std::move(err);
  }

  // From the first word on, the program speaks for itself.
  void pass(const Session::Sink& sink, std::string_view text) {
    if (!quiet.load(std::memory_order_relaxed)) hush();
    sink(text);
  }

  void hush() {
    const std::lock_guard lock(mutex);
    if (shown) say("\r\x1b[K");
    shown = false;
    quiet.store(true);
  }

  void watch() {
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex);
    for (int seconds = 1; !quiet; ++seconds) {
      wake.wait_until(lock, start + std::chrono::seconds(seconds), [&] { return quiet.load(); });
      if (quiet) return;
      const std::string text = cut(note(seconds), terminal_size(STDERR_FILENO).columns - 1);
      say("\r\x1b[K" + paint(text, style::kFaint, session.color()));
      shown = true;
    }
  }

  // Ctrl-C is offered where it would be seen at once.
  std::string note(int seconds) const {
    std::string text = phase_text(phases.open());
    text += fmt::format("{} {} s", text.ends_with("running") ? "" : ",", seconds);
    if (interrupt_requested.load()) return text + ", stopping";
    return is_held(*holds) ? text : text + ", Ctrl-C stops";
  }

  Session& session;
  Session::Sink out, err;
  const InterruptHolds* const holds;
  const timeline::PhaseWatch phases;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<bool> quiet{false};
  bool shown = false;
  std::thread watcher;
};

namespace {

WorkNote::State* current = nullptr;

}  // namespace

void hush_work_note() {
  if (current != nullptr) current->hush();
}

WorkNote::WorkNote(Session& session) : state_(std::make_unique<State>(session)) { current = state_.get(); }
WorkNote::~WorkNote() { current = nullptr; }

}  // namespace kiln::repl
