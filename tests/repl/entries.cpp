// The log of entries: numbers, the values that `_18` gives and how long, and `:show`.
#include <catch2/catch.hpp>

#include "tests/repl/talk.h"

namespace kiln::entries_test {

using namespace kiln::repl;

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the value of an entry is known by its number") {
  Talk talk;
  talk("x = [1]");                        // 1
  CHECK(talk("x") == "[1]\n");            // 2
  CHECK(talk("_2 + [2]") == "[1, 2]\n");  // 3
  CHECK(talk("x.append(5); _2") == "[1, 5]\n");
  CHECK(talk(":time _3;").size() > 0);
  CHECK(talk("(fn () { return _3 })()") == "[1, 2]\n");
  CHECK(talk("kiln 7> 10 + 1\n11\nkiln 8> _7 * 2\n22") == "11\n22\n");
}

TEST_CASE("an entry without a value says so when it is read") {
  Talk talk;
  talk("x = 1");
  talk("nobody");
  CHECK(contains(talk("_1"), "help: entry 1 has no value; `:show 1` shows it again"));
  CHECK(contains(talk("_2"), "help: entry 2 ended with an error; `:show 2` shows it again"));
  CHECK(contains(talk("_5 + 1"), "help: entry 5 is this one: it has no value yet"));
  CHECK(contains(talk("_99"), "help: entry 99 is still to come; this one is entry 6"));
  CHECK_FALSE(contains(talk("_x"), "entry"));
  talk("7");
  talk(":reset");
  CHECK(contains(talk("_8"), "the value of entry 8 is no longer kept"));
}

TEST_CASE("a variable of the program's own that is called as an entry stays") {
  Talk talk;
  talk("_2 = 'mine'");
  talk("5");
  CHECK(talk("_2") == "'mine'\n");
  CHECK(talk(":who") == "no variables yet\n");
  talk("x = [1]; _6 = x");      // 5
  CHECK(talk("x") == "[1]\n");  // 6, the same list
  for (std::size_t k = 0; k <= EntryLog::kValues; ++k) talk("'text'");
  CHECK(talk("_6") == "[1]\n");
}

TEST_CASE("places name the entry, also those of commands, and empty entries do not count") {
  Talk talk;
  talk(":help keys");
  talk("  ");
  CHECK(contains(talk("nobody"), "--> <prompt:2>:1:1"));
  CHECK(contains(talk(":time nobody"), "--> <prompt:3>:1:1"));
}

TEST_CASE("few large values are kept, and none with a history") {
  Talk talk;
  talk("x = zeros(6 * 1024 * 1024)");         // 1, of 24 MiB
  for (int k = 0; k < 3; ++k) talk("x + 1");  // 2 to 4
  CHECK(contains(talk("_2.shape"), "no longer kept"));
  CHECK(talk("_4.shape") == "(6291456,)\n");  // 6
  CHECK(talk("_3.shape") == "(6291456,)\n");
  talk("w = ones(2).requires_grad_()");  // 8
  talk("w * 2");                         // 9
  CHECK(talk("_9.sum().backward(); w.grad.tolist()") == "[2.0, 2.0]\n");
  CHECK(contains(talk("_9"), "no longer kept"));
  CHECK(talk("_6") == "(6291456,)\n");
}

TEST_CASE("graphs and errors are kept, iterators are not") {
  Talk talk;
  talk("graph(x => x + 1, ones(2))");                               // 1
  talk("fn caught() { try { [1][2] } catch err { return err } }");  // 2
  talk("caught()");                                                 // 3
  talk("iter([1, 2])");                                             // 4
  talk("5");                                                        // 5
  CHECK(talk("_1.ops()") == "['add']\n");
  CHECK(talk("_3.kind") == "'IndexError'\n");
  CHECK(contains(talk("_4"), "no longer kept"));
}

TEST_CASE("what a value took in later counts, too") {
  Talk talk;
  talk("l = []");
  talk("l");                                                  // 2
  talk("for i in range(3) { l.append(zeros(8000000)) }; 0");  // 3, now 96 MB
  CHECK(contains(talk("_2"), "no longer kept"));
  CHECK(talk("len(l)") == "3\n");
}

TEST_CASE("values are kept for a number of entries") {
  Talk talk;
  for (std::size_t k = 0; k <= EntryLog::kValues; ++k) talk("'text'");
  CHECK(contains(talk("_1"), "no longer kept"));
  CHECK(talk("_2") == "'text'\n");
}

TEST_CASE(":show shows an entry again") {
  Talk talk;
  talk("fn f(x) {\n  return x + 1\n}");
  talk("f(41)");
  talk("nobody");
  const std::string first = talk(":show 1");
  CHECK(first.starts_with("entry 1, at "));
  CHECK(contains(first, "\nkiln 1> fn f(x) {\n    ...   return x + 1\n    ... }\nit has no value\n"));
  CHECK(talk(":show _2").ends_with("\nkiln 2> f(41)\n42\n"));
  CHECK(talk(":show 3").ends_with("\nkiln 3> nobody\nit ended with an error\n"));
  CHECK(contains(talk(":show"), "  fn f(x) { …\n"));
  CHECK(contains(talk(":show x"), "ValueError: `x` is not the number of an entry"));
  CHECK(contains(talk(":show 99"), "ValueError: there is no entry 99: they are 1 to 8"));
}

}  // namespace kiln::entries_test
