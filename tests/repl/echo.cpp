// How long values and long output are shown: elided in the echo of an entry, and in one piece for a pager.
#include <catch2/catch.hpp>

#include "repl/pager.h"
#include "tests/repl/talk.h"

namespace kiln::echo_test {

using namespace kiln::repl;

namespace {

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("a long value is elided by the echo and whole by print") {
  Talk talk;
  CHECK(talk("list(range(1001))") == "[0, 1, 2, … 995 more …, 998, 999, 1000]\n");
  CHECK(talk("tuple(range(2000))") == "(0, 1, 2, … 1994 more …, 1997, 1998, 1999)\n");
  CHECK(talk("set(range(2000))").ends_with(" more …, 1997, 1998, 1999}\n"));
  CHECK(talk("{k: k * k for k in range(2000)}") ==
        "{0: 0, 1: 1, 2: 4, … 1994 more …, 1997: 3988009, 1998: 3992004, 1999: 3996001}\n");
  const std::string whole = talk("print(list(range(2000)))");
  CHECK(whole.find("…") == std::string::npos);
  CHECK(talk("print(repr(list(range(2000))))") == whole);
  CHECK(talk("list(range(900))").find("…") == std::string::npos);
}

TEST_CASE("the longest parts of a value are cut first") {
  Talk talk;
  const std::string table = talk("{f\"c{k}\": list(range(300)) for k in range(8)}");
  CHECK(table.find("'c4': [0, 1, 2, … 294 more …, 297, 298, 299], 'c5'") != std::string::npos);
  const std::string rows = talk("[[i] * 50 for i in range(50)]");
  CHECK(rows.starts_with("[[0, 0, 0, … 44 more …, 0, 0, 0], [1, 1, 1, … 44 more …, 1, 1, 1], "));
  talk("struct Node { left; right }");
  talk("fn tree(depth) = Node(tree(depth - 1), tree(depth - 1)) if depth > 0 else none");
  const std::string deep = talk("tree(14)");
  CHECK(deep.size() < 200'000);
  CHECK(deep.find("right=Node(…)") != std::string::npos);
}

TEST_CASE("a long text is cut between characters, and says how many are left out") {
  Talk talk;
  const std::string end = "'" + repeated("é", 125) + "'";
  CHECK(talk("'é' * 1500") == end + " … 1250 more characters … " + end + "\n");
  CHECK(talk("print(len(repr('a' * 1500)))") == "1502\n");
}

TEST_CASE("a value with itself in it, and one whose repr changes it, are shown") {
  Talk talk;
  talk("l = [1]; l.append(l)");
  CHECK(talk("l") == "[1, [...]]\n");
  talk("bag = []; struct Thief { fn repr(self) { bag.clear(); return 'gone' } }");
  talk("bag.append(Thief()); bag.append(2)");
  CHECK(talk("bag") == "[gone]\n");
}

TEST_CASE("what a command writes goes to the pager in one piece, what a program prints does not") {
  std::string out, pages;
  Session::Options options;
  options.out = options.err = [&](std::string_view text) { out += text; };
  options.page = [&](std::string_view text) { pages += "<" + std::string(text) + ">"; };
  Session session(std::move(options));
  session.eval("print('a'); [1, 2]");
  CHECK(out == "a\n");
  CHECK(pages == "<[1, 2]\n>");
  pages.clear();
  session.eval(":set");
  CHECK(pages.starts_with("<  precision"));
  CHECK(pages.find('>') == pages.size() - 1);
  pages.clear();
  session.eval(":time print('b')");
  CHECK(out.starts_with("a\nb\n"));
  CHECK(pages.empty());
  session.eval(":show 99");
  CHECK(out.find("ValueError: there is no entry 99") != std::string::npos);
  session.eval("exit = 5");
  session.eval("exit");
  CHECK(pages == "<5\n>");
}

TEST_CASE("rows of a terminal are counted with wraps and without colours") {
  CHECK(fits_terminal("a\nb\n", {80, 3}));
  CHECK_FALSE(fits_terminal("a\nb\nc\n", {80, 3}));
  CHECK_FALSE(fits_terminal("12345678901\nb\n", {10, 3}));
  CHECK(fits_terminal("1234567890\nb\n", {10, 3}));
  CHECK(fits_terminal("\x1b[31m1234567890\x1b[0m\n\x1b]8;;file:///a\x1b\\b\x1b]8;;\x1b\\\n", {10, 3}));
}

}  // namespace kiln::echo_test
