#include "repl/work_note.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "repl/terminal.h"
#include "tensor/held_signals.h"

namespace kiln::repl {
namespace {

std::atomic<const char*> phase{"running"};

void say(const std::string& text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

}  // namespace

void set_phase(const char* text) { phase.store(text); }

struct WorkNote::State {
  explicit State(Session& s) : session(s), out(s.options().out), err(s.options().err) {
    session.options().out = [this](std::string_view text) { pass(out, text); };
    session.options().err = [this](std::string_view text) { pass(err, text); };
    // Ctrl-C is for the thread that runs the program: it may be inside a blocking call.
    const HeldSignals held;
    watcher = std::thread([this] { watch(); });
  }

  ~State() {
    hush();
    wake.notify_one();
    watcher.join();
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
      say("\r\x1b[K" + paint(phase.load() + (" " + std::to_string(seconds)) + " s, Ctrl-C stops",
                             style::kFaint, session.color()));
      shown = true;
    }
  }

  Session& session;
  Session::Sink out, err;
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
