#include "dist/launch/job.h"

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string_view>

#include "dist/launch/crew.h"
#include "dist/launch/job_signals.h"
#include "dist/launch/poller.h"
#include "dist/launch/verdict.h"

namespace kiln::dist {
namespace {

using Clock = std::chrono::steady_clock;

// How long others may show that they were the cause of a failure that is known.
constexpr std::chrono::milliseconds kHearing{300};
// How long ranks that are told to end have for it.
constexpr std::chrono::milliseconds kGrace{3000};

// The terminal is as it was after a rank that was killed while it read from it.
class TerminalState {
 public:
  TerminalState() : is_terminal_(tcgetattr(STDIN_FILENO, &before_) == 0) {}
  ~TerminalState() {
    if (is_terminal_) tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  TerminalState(const TerminalState&) = delete;
  TerminalState& operator=(const TerminalState&) = delete;

 private:
  termios before_{};
  bool is_terminal_;
};

class Job {
 public:
  explicit Job(const JobOptions& options)
      : options_(options),
        crew_(
            poller_, options,
            [this](int rank, bool is_error, std::string_view line) { show(rank, is_error, line); },
            [](const std::string& sentence) { std::fprintf(stderr, "kiln run: %s\n", sentence.c_str()); }) {}

  int run() {
    poller_.add(signals_.descriptor(), [this] { take_signals(); });
    crew_.start();
    Clock::time_point last_tick = Clock::now();
    while (!crew_.is_over()) {
      poller_.run_once(std::min(beat_interval(), std::chrono::milliseconds(100)));
      if (Clock::now() - last_tick >= beat_interval()) {
        last_tick = Clock::now();
        crew_.tick();
      }
      if (!signal_) crew_.renew();
      end_with_failures();
    }
    return close();
  }

 private:
  void show(int rank, bool is_error, std::string_view line) const {
    FILE* const stream = is_error ? stderr : stdout;
    std::string text;
    if (options_.size > 1) {
      text = "[" + std::to_string(rank) + "] ";
      static constexpr std::array kColors{36, 33, 35, 32, 34, 31};
      const int color = kColors[static_cast<std::size_t>(rank) % kColors.size()];
      if (options_.color) text = "\x1b[" + std::to_string(color) + "m" + text + "\x1b[0m";
    }
    text.append(line).append("\n");
    std::fwrite(text.data(), 1, text.size(), stream);
    std::fflush(stream);
  }

  void take_signals() {
    while (const auto info = signals_.next()) {
      const int number = static_cast<int>(info->ssi_signo);
      if (number == SIGINT) {
        interrupt(info->ssi_code == SI_KERNEL);
      } else if (number == SIGTSTP) {
        suspend();
      } else if (number != SIGCHLD) {
        signal_ = number;
        stop(number);
      }
    }
  }

  // Ctrl-Z: all wait until the launcher goes on.
  void suspend() {
    if (options_.is_prompt) return;
    crew_.signal(SIGSTOP);
    raise(SIGSTOP);
    crew_.signal(SIGCONT);
  }

  // Ranks end with an error that says where they were; who asks twice does not wait for that.
  void interrupt(bool by_terminal) {
    if (signal_) return stop(SIGKILL);
    crew_.interrupt(by_terminal);
    if (options_.is_prompt) return;
    signal_ = SIGINT;
    kill_at_ = Clock::now() + kGrace;
  }

  void stop(int number) {
    is_stopping_ = true;
    kill_at_ = std::min(kill_at_, Clock::now() + kGrace);
    crew_.stop(number);
  }

  void end_with_failures() {
    if (Clock::now() > kill_at_) return stop(SIGKILL);
    if (is_stopping_ || signal_) return;
    if (!crew_.has_failed()) return failed_.reset();  // of ranks that an elastic job goes on without
    if (!failed_) failed_ = Clock::now();
    if (Clock::now() - *failed_ > kHearing) stop(SIGTERM);
  }

  int close() {
    const std::vector<RankEnd> ends = crew_.ends();
    Verdict verdict = judge(ends);
    if (signal_) {
      verdict = {128 + *signal_, {}};
      for (const RankEnd& end : ends)
        if (verdict.text.empty() && end.error) verdict.text = end.error->text;
    }
    // A prompt has shown its own errors.
    if (options_.is_prompt && ends.front().exit_code) verdict = {*ends.front().exit_code, {}};
    std::fwrite(verdict.text.data(), 1, verdict.text.size(), stderr);
    return verdict.exit_code;
  }

  const JobOptions& options_;
  TerminalState terminal_;
  JobSignals signals_;
  Poller poller_;
  Crew crew_;
  std::optional<int> signal_;  // that ends the job
  std::optional<Clock::time_point> failed_;
  Clock::time_point kill_at_ = Clock::time_point::max();
  bool is_stopping_ = false;
};

}  // namespace

int run_job(const JobOptions& options) { return Job(options).run(); }

}  // namespace kiln::dist
