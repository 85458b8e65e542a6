// Owns the decision whether compiling hot code pays: how much time captures may take, and whether an entry is
// faster than the interpreter. It affects only the time that a program takes, not its results.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace kiln::interp::capture {

using Clock = std::chrono::steady_clock;

// Captures, for which the program has to wait, may take a small share of the time since it began. So a short
// program is hardly slower than without them, and a long one is still compiled early.
class CaptureBudget {
 public:
  // share 0: without limit, so that time does not decide what is compiled.
  explicit CaptureBudget(double share, Clock::time_point began = Clock::now())
      : share_(share), began_(began) {}
  // May one more capture begin? Those with symbolic sizes take many times as long.
  bool allows(bool symbolic, Clock::time_point now = Clock::now()) const;
  void spend(Clock::duration time) { spent_ += time; }

 private:
  double share_;
  Clock::time_point began_;
  Clock::duration spent_{0};
};

// A reading of the two clocks that a trial goes by. Time that passes counts what the thread waits for, as
// other threads or a card, but also what other programs take from it; the thread's own work counts neither.
struct Moment {
  Clock::time_point at;
  std::chrono::nanoseconds worked{0};  // by a processor, for this thread
  static Moment now();
};

// Compares the entries of a place with the interpreter. They take turns each time that the place is reached,
// and the time until it is reached again counts. The order of turns is such that neither a drift of the
// machine's speed nor growing or shrinking iterations favour one of them. It ends sooner where one is much
// faster.
class Trial {
 public:
  // The place is reached.
  void arrive(const Moment& now = Moment::now());
  // Is it the interpreter's turn?
  bool is_interpreters() const { return kTurns[turn_] == Way::Interpreted; }
  // From here on an entry runs so many iterations of a loop, or the interpreter runs one.
  void done_by_entry(int iterations) { now_ = Way::Compiled, iterations_ = iterations; }
  void done_by_interpreter() { now_ = Way::Interpreted, iterations_ = 1; }

  bool is_over() const { return turn_ == kTurns.size() || is_clear_; }
  // Was one so much faster that another trial would hardly tell otherwise?
  bool is_clear() const { return is_clear_; }
  // Why the entries are not worth it; empty: they are, or the clocks disagree.
  std::string verdict() const;

 private:
  enum class Way : std::uint8_t { Compiled, Interpreted, None };
  static constexpr Way C = Way::Compiled, I = Way::Interpreted;
  static constexpr std::array<Way, 8> kTurns{C, I, I, C, I, C, C, I};
  static constexpr std::size_t kTimes = 7;  // of a turn; its median counts
  static constexpr std::size_t kClocks = 2;

  bool is_much_slower_interpreted() const;
  void end_turn(Way way);
  // How many times as long as in the interpreter it took compiled, by a clock.
  double ratio(std::size_t clock) const;

  std::size_t turn_ = 0;
  std::size_t count_ = 0;                                    // of the times of this turn
  std::array<std::array<double, kTimes>, kClocks> times_{};  // of one iteration, in seconds
  std::array<std::array<double, 2>, kClocks> sums_{};        // of medians, compiled and interpreted
  Way now_ = Way::None;                                      // how the code since the latest arrival ran
  int iterations_ = 1;
  bool is_clear_ = false;
  Moment latest_{};
};

}  // namespace kiln::interp::capture
