// Owns the writing of random programs of host values: every instruction of the machine, in every combination.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/capture/program.h"

namespace kiln::testing {

// Definitions, and a function `main` whose result and prints are what the program shows. Values are mostly of
// the kinds that are asked for, at times of another; loops end, and errors are part of it.
class HostWriter {
 public:
  explicit HostWriter(std::uint64_t seed) : random_(seed) {}
  Program write();

 private:
  enum class Kind : std::uint8_t { Int, Float, Text, List, Dict, Tuple, Any };
  using Block = std::vector<Statement>;
  struct Name {
    std::string text;
    Kind kind;
  };

  std::string pick(const std::vector<std::string>& from) { return random_.pick(from); }
  std::string digit(int limit) { return std::to_string(random_.below(limit)); }
  std::string fresh(const char* stem) { return stem + std::to_string(names_++); }
  static void line(Block& block, std::string text) { block.push_back({std::move(text), {}, ""}); }

  std::string value(Kind kind, int depth);
  std::string literal(Kind kind);
  std::string integer(int depth);
  std::string real(int depth);
  std::string text(int depth);
  std::string list(int depth);
  std::string dict(int depth);
  std::string tuple(int depth);
  std::string condition(int depth);
  std::string function_value();
  std::string call();

  void statements(Block& block, int count, int depth);
  void statement(Block& block, int depth);
  void assignment(Block& block);
  void change(Block& block);
  void loop(Block& block, int depth);
  void branch(Block& block, int depth);
  void attempt(Block& block, int depth);
  void scope(Block& block, int depth);
  void closure(Block& block, int depth);
  void function(const std::string& name);

  Random random_;
  Program program_;
  std::vector<Name> scope_;
  struct Callable {
    std::string name;
    int arguments;
  };
  std::vector<Callable> functions_;  // that are written: they call only those before them
  int names_ = 0;
  int loops_ = 0;  // around the statement that is written
  int most_loops_ = 2;
};

}  // namespace kiln::testing
