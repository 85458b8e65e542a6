// Owns whether it pays to compile what became hot by itself: how much time may go into captures, and whether
// an entry is faster than the interpreter. Results do not depend on it, only how long they take.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace kiln::interp::capture {

using Clock = std::chrono::steady_clock;

// Of the time since the program began a small share may go into captures, which the program has to wait for.
// So a short program is hardly slower than it would be without, and a long one is compiled early all the
// same.
class CaptureBudget {
 public:
  // 0: without limit, where what is compiled must not depend on time.
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

// A place is reached again and again; in turns its entries do what comes next, or the interpreter does, and
// the time until it is reached again is compared. The turns are such that neither a drift of the machine's
// speed nor iterations that grow or shrink favour one of them.
class Trial {
 public:
  // The place is reached.
  void arrive(Clock::time_point now = Clock::now());
  // Is it the interpreter's turn?
  bool is_interpreters() const { return kTurns[turn_] == Way::Interpreted; }
  // What was done from here on: so many iterations of a loop by an entry, or one by the interpreter.
  void done_by_entry(int iterations) { now_ = Way::Compiled, iterations_ = iterations; }
  void done_by_interpreter() { now_ = Way::Interpreted, iterations_ = 1; }

  bool is_over() const { return turn_ == kTurns.size(); }
  // Why the entries are not worth it; empty: they are.
  std::string verdict() const;

 private:
  enum class Way : std::uint8_t { None, Compiled, Interpreted };
  static constexpr Way C = Way::Compiled, I = Way::Interpreted;
  static constexpr std::array<Way, 8> kTurns{C, I, I, C, I, C, C, I};
  static constexpr std::size_t kTimes = 7;  // of a turn; its median counts

  std::size_t turn_ = 0;
  std::array<double, kTimes> times_{};  // of one iteration, in seconds
  std::size_t count_ = 0;
  std::array<double, 2> sums_{};  // of medians, compiled and interpreted
  Way now_ = Way::None;           // how what came since the latest arrival was done
  int iterations_ = 1;
  Clock::time_point latest_{};
};

}  // namespace kiln::interp::capture
