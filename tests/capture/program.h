// Owns a program as a tree of statements, so that parts of it can be left out, and the ways in which it runs.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace kiln::testing {

// A line, or a line that opens a block of others.
struct Statement {
  std::string head;
  std::vector<Statement> body;
  std::string tail;       // closes the block; empty: there is none
  bool is_whole = false;  // parts of the line cannot be left out
};

enum class Mode : std::uint8_t {
  Interpreted,
  Compiled,  // every function from its first call on, and every loop
  Hot,       // what runs a few ops, in the middle of that
  Wrapped,   // in `jit`, the functions of the top level
};
struct Way {
  Mode mode = Mode::Compiled;
  std::string backend;
  int hot_ops = 12;             // that a function or a loop runs before it is compiled, when hot
  bool is_own_backend = false;  // `backend` is an expression, for functions that are wrapped
  bool is_checked = false;      // runs once more, beside the interpreter, as with --check
};

// A line of the program that gives what another in its place gives: the same is printed.
struct Law {
  std::string name;
  std::string line;
  std::string plain;  // in place of it
};

struct Program {
  std::string kind;  // what it has most of
  std::vector<Way> ways;
  std::vector<Law> laws;
  std::vector<Statement> statements;
  std::vector<std::string> functions;  // names at the top level that may be wrapped in `jit`
  std::set<std::string> forms;         // what its writer put into it, where that is counted
};

// Numbers from a seed, the same on every machine (SplitMix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  int below(int limit) { return static_cast<int>(next() % static_cast<std::uint64_t>(limit)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
  }

 private:
  std::uint64_t state_;
};

std::string text_of(const Statement& statement, int depth = 0);
std::string text_of(const Program& program);
std::string text_of(const Way& way);  // "wrapped in jit, backend \"fused\""

// A program made of a seed: functions of every kind, then calls of them with arguments and outside state that
// change in between. Of one of the named themes, or of any.
Program random_program(std::uint64_t seed, const std::vector<std::string>& themes = {});
std::vector<std::string> theme_names();

}  // namespace kiln::testing
