// How programs of loops leave iterations: by statements of the language, and by errors.
#include <utility>

#include <fmt/format.h>

#include "tests/capture/loop_writer.h"

namespace kiln::testing {

void LoopWriter::leave(Block& block) {
  if (loops_ == 0) return change_number(block);
  std::vector<std::string> ways{"break"};
  if (may_continue_) ways.insert(ways.end(), 2, "continue");
  if (in_function_ && leaves_.empty() && random_.chance(40)) ways = {"return " + number(0)};
  const std::string way = pick(ways);
  form(way.substr(0, way.find(' ')) + " in a loop");
  line(block, fmt::format("if {} {{ {} }}", condition(1), way));
}

void LoopWriter::attempt(Block& block, int depth) {
  form("try in a loop");
  const std::vector<Local> before = scope_;
  const std::string e = fresh("e");
  Statement tried{"try {", {}, "}"};
  if (random_.chance(40)) fail(tried.body);
  statements(tried.body, 1, depth > 0 ? depth - 1 : 0);
  if (random_.chance(40)) fail(tried.body);
  scope_ = before;
  tried.tail = fmt::format("}} catch {0} {{ print({0}.kind, {0}.message, {0}.line); {1} }}", e,
                           pick({"", "calm(a)", loops_ > 0 ? "break" : ""}));
  block.push_back(std::move(tried));
}

// An error, in an iteration that the program does not name.
void LoopWriter::fail(Block& block) {
  const std::string i = local(Kind::Index), k = local(Kind::Int);
  const std::string at = i.empty() ? (k.empty() ? "2" : k) : i;
  switch (random_.below(9)) {
    case 0:
      form("error: index out of range");
      return line(block, fmt::format("a[{} + 2, 0] {} 1", at, pick({"=", "+=", "-="})));
    case 1:
      form("error: division by zero");
      return line(block, fmt::format("k = 12 {} ({} - {})", pick({"//", "%"}), at, digit(4)));
    case 2:
      form("error: ints overflow");
      return line(block, pick({"k = k * 3037000500 + 3", "k = 4611686018427387904 * (k + 1)",
                               fmt::format("k = k + 9223372036854775806 * {}", at)}));
    case 3:
      form("error: shapes");
      return line(block, fmt::format("v[:{0}] = v[:{0} + 1] * 2", at));
    case 4:
      form("error: thrown");
      return line(block, fmt::format("if {} {{ throw \"stop\" }}", condition(0)));
    case 5:
      form("error: assertion");
      return line(block, fmt::format("assert {} < {}, \"too far\"", at, digit(6)));
    case 6:
      form("error: item of a list");
      return line(block, fmt::format("k = [3, 1, 2][{}]", at));
    case 7:
      form("error: division of floats by zero");
      return line(block, fmt::format("s = 1.5 / ({} - {})", at, digit(4)));
    default:
      form("error: name without a value");
      return line(block, fmt::format("if {} == {} {{ k = undefined_name }}", at, digit(4)));
  }
}

}  // namespace kiln::testing
