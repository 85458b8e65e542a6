#include "dist/launch/job.h"

#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "dist/launch/poller.h"
#include "dist/launch/rank_process.h"
#include "dist/launch/remote_command.h"
#include "dist/launch/rendezvous.h"
#include "dist/launch/verdict.h"

namespace kiln::dist {
namespace {

using Clock = std::chrono::steady_clock;

// How long others may show that they were the cause of a failure that is known.
constexpr std::chrono::milliseconds kHearing{300};
// How long ranks that are told to end have for it.
constexpr std::chrono::milliseconds kGrace{3000};

std::string make_secret() {
  std::array<std::uint64_t, 2> numbers{};
  if (getrandom(numbers.data(), sizeof(numbers), 0) != sizeof(numbers))
    throw std::runtime_error("the system gives no random bytes for the job's secret");
  return std::to_string(numbers[0]) + std::to_string(numbers[1]);
}

// Signals that end a job arrive as something to read.
class Signals {
 public:
  Signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, &before_);
    descriptor_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~Signals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const { return descriptor_.get(); }
  std::optional<signalfd_siginfo> next() {
    signalfd_siginfo info{};
    if (read(descriptor_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
    return info;
  }

 private:
  sigset_t before_;
  Descriptor descriptor_;
};

class Job {
 public:
  explicit Job(const JobOptions& options)
      : options_(options),
        hosts_(options.hosts.empty() ? std::vector{HostSlots{"localhost", options.size}} : options.hosts),
        placement_(place_ranks(hosts_, options.size)),
        secret_(make_secret()),
        rendezvous_(poller_, is_one_host() ? "127.0.0.1" : "0.0.0.0", secret_,
                    {[this](const Hello& hello) { compare_program(hello); },
                     [this](int rank) { fault(rank, "closed its connection to the launcher"); },
                     [this](int rank) { fault(rank, silence_text()); }}) {}

  int run() {
    poller_.add(signals_.descriptor(), [this] { take_signals(); });
    for (const RankPlace& place : placement_.places) start(place);
    Clock::time_point last_tick = Clock::now();
    while (!is_over()) {
      poller_.run_once(std::min(beat_interval(), std::chrono::milliseconds(100)));
      if (Clock::now() - last_tick >= beat_interval()) {
        last_tick = Clock::now();
        rendezvous_.tick();
      }
      end_with_failures();
    }
    return close();
  }

 private:
  bool is_one_host() const { return options_.hosts.empty(); }

  std::string rendezvous_addresses() const {
    const std::string port = ":" + std::to_string(rendezvous_.port());
    if (is_one_host()) return "127.0.0.1" + port;
    std::string addresses;
    for (const std::string& address : host_addresses())
      addresses += (addresses.empty() ? "" : ",") + address + port;
    return addresses;
  }

  void start(const RankPlace& place) {
    const auto at = static_cast<std::size_t>(place.rank);
    ChildOptions child;
    child.environment =
        environment_of({place, rendezvous_addresses(), secret_, 0, is_one_host(), options_.is_prompt});
    if (options_.color) child.environment.emplace_back("CLICOLOR_FORCE=1");
    child.command = options_.command;
    if (!is_one_host()) {
      child.command = remote_command(options_.agent, hosts_[placement_.hosts[at]].name, child.environment,
                                     options_.command);
      child.environment.clear();
    }
    // The rank that reads from a terminal is where the terminal's signals go, which would end an agent.
    const bool has_terminal = place.rank == 0 && (is_one_host() || options_.is_prompt);
    child.reads_input = has_terminal || (place.rank == 0 && isatty(STDIN_FILENO) == 0);
    child.own_group = !has_terminal;
    child.captures_output = !(options_.is_prompt && place.rank == 0);
    ranks_.push_back(std::make_unique<RankProcess>(
        poller_, place.rank, child,
        [this](int rank, bool is_error, std::string_view line) { show(rank, is_error, line); }));
  }

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

  void compare_program(const Hello& hello) {
    if (!program_) {
      program_ = hello;
    } else if (program_->program != hello.program) {
      fault(hello.rank,
            "runs another program than rank " + std::to_string(program_->rank) + ": the files differ");
    }
  }

  void fault(int rank, const std::string& what) {
    if (!is_ending_) ranks_[static_cast<std::size_t>(rank)]->fault(what);
  }

  void take_signals() {
    while (const auto info = signals_.next()) {
      const int number = static_cast<int>(info->ssi_signo);
      if (number == SIGINT) {
        interrupt(info->ssi_code == SI_KERNEL);
      } else if (number != SIGCHLD) {
        signal_ = number;
        stop_all(number);
      }
    }
  }

  // Ranks end with an error that says where they were; who asks twice does not wait for that.
  void interrupt(bool by_terminal) {
    if (signal_) return stop_all(SIGKILL);
    if (is_one_host()) {
      for (const auto& rank : ranks_)
        if (rank->rank() != 0 || !by_terminal) rank->signal(SIGINT);
    } else {
      rendezvous_.tell_all({Message::Kind::Interrupt, {}, {}});
    }
    if (options_.is_prompt) return;
    signal_ = SIGINT;
    kill_at_ = Clock::now() + kGrace;
    is_ending_ = true;
  }

  void stop_all(int number) {
    is_ending_ = true;
    kill_at_ = std::min(kill_at_, Clock::now() + kGrace);
    rendezvous_.tell_all({Message::Kind::Stop, {}, {}});
    for (const auto& rank : ranks_) rank->stop(number);
  }

  void end_with_failures() {
    if (Clock::now() > kill_at_) return stop_all(SIGKILL);
    if (is_ending_) return;
    if (!std::ranges::any_of(ranks_, [](const auto& rank) { return rank->end().has_failed(); })) return;
    if (!failed_) failed_ = Clock::now();
    if (Clock::now() - *failed_ > kHearing) stop_all(SIGTERM);
  }

  bool is_over() {
    bool all = true;
    for (const auto& rank : ranks_) all = rank->is_over() && all;
    return all;
  }

  int close() {
    std::vector<RankEnd> ends;
    for (const auto& rank : ranks_) ends.push_back(rank->end());
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
  std::vector<HostSlots> hosts_;
  Placement placement_;
  std::string secret_;
  Signals signals_;
  Poller poller_;
  Rendezvous rendezvous_;
  std::vector<std::unique_ptr<RankProcess>> ranks_;
  std::optional<Hello> program_;  // of the rank that came first
  std::optional<int> signal_;     // that ends the job
  std::optional<Clock::time_point> failed_;
  Clock::time_point kill_at_ = Clock::time_point::max();
  bool is_ending_ = false;
};

}  // namespace

int run_job(const JobOptions& options) { return Job(options).run(); }

}  // namespace kiln::dist
