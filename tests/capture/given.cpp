#include "tests/capture/given.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "tests/capture/workers.h"

namespace kiln::testing {

Program given_program(const std::string& path) {
  Program program;
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::string statement;
  std::ptrdiff_t depth = 0;
  for (std::string text; std::getline(file, text);) {
    statement += (statement.empty() ? "" : "\n") + text;
    const auto count = [&text](char c) { return std::count(text.begin(), text.end(), c); };
    depth += count('{') + count('(') + count('[') - count('}') - count(')') - count(']');
    if (depth > 0) continue;
    const std::size_t name_end = statement.find('(');
    if (statement.rfind("fn ", 0) == 0 && name_end != std::string::npos)
      program.functions.push_back(statement.substr(3, name_end - 3));
    program.statements.push_back({std::exchange(statement, ""), {}, ""});
  }
  return program;
}

bool run_in_every_way(Program program) {
  bool all_same = true;
  for (const Mode mode : {Mode::Compiled, Mode::Wrapped, Mode::Hot}) {
    for (const char* backend : {"fused", "aot_eager", "eager"}) {
      Way way{mode, backend};
      way.is_checked = true;
      program.ways = {way};
      const auto found = difference_apart(program);
      all_same = all_same && !found;
      const std::string what = found.value_or(text_of(way) + ": no difference\n");
      std::printf("%s", what.c_str());
      std::fflush(stdout);  // processes begin with what is not written yet
    }
  }
  return all_same;
}

}  // namespace kiln::testing
