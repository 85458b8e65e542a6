// What the prompt asks of the front end: completeness, classes of text, keywords.
#include <algorithm>

#include <catch2/catch.hpp>

#include "lang/parse.h"

namespace kiln::tools_test {

using namespace kiln::lang;

TEST_CASE("what could go on is incomplete, what is wrong already is not") {
  const char* complete[] = {
      "x", "x = 1\n", "", "# note", "if a { b }", "f(\n1\n)", "fn f() {\n}\n", "\"\"\"a\nb\"\"\"", "a;"};
  for (const char* text : complete) {
    INFO(text);
    CHECK(completeness(text) == Completeness::Complete);
  }
  const char* incomplete[] = {
      "f(",        "f(1,\n",    "[1, 2",          "x = {",     "fn f() {",    "fn f() {\n  x\n",
      "x = 1 +",   "x = 1 +\n", "a and",          "x =",       "@jit",        "@jit\n",
      "\"\"\"abc", "'''",       "if a { b",       "try { a }", "try { a }\n", "not",
      "x.",        "f(\"\"\"a", "struct S {\n x", "x =>",      "f\"\"\"{x}"};
  for (const char* text : incomplete) {
    INFO(text);
    CHECK(completeness(text) == Completeness::Incomplete);
  }
  const char* invalid[] = {")",    "f(1 2", "x = 1 2",       "\"abc",       "if a",     "1abc",
                           "f(]",  "x++",   "else",          "f\"{\"",      "f\"{(}\"", "f\"{x + }\"",
                           "\xff", "a $ b", "from m import", "fn f() { a b"};
  for (const char* text : invalid) {
    INFO(text);
    CHECK(completeness(text) == Completeness::Invalid);
  }
}

namespace {

// One letter per byte: the class of the token it belongs to.
std::string classes(std::string_view text) {
  static constexpr char kLetters[] = "knds#ob !";
  std::string out;
  for (const ClassifiedToken& token : classify(text)) {
    CHECK(token.begin == out.size());
    out.append(token.end - token.begin, kLetters[static_cast<int>(token.kind)]);
  }
  CHECK(out.size() == text.size());
  return out;
}

}  // namespace

TEST_CASE("text is classified without gaps") {
  CHECK(classes("fn f(x) = 1.5  # c") == "kk nbnb o ddd  ###");
  CHECK(classes("a and 'b' is f\"{x}\"") == "n kkk sss kk ssssss");
  CHECK(classes("\"open") == "sssss");
  CHECK(classes("x $ y && !") == "n ! n !! !");
  CHECK(classes("true\n{}") == "kkkk bb");
  CHECK(classes("match x {") == "kkkkk n b");
  CHECK(classes("match = del") == "nnnnn o nnn");
  CHECK(classes("f(case)") == "nbnnnnb");
  CHECK(classes("\xff\xfe") == "nn");
  CHECK(classes("") == "");
}

TEST_CASE("keywords are those of the language, sorted") {
  const auto& words = keywords();
  CHECK(words.size() == 32);
  CHECK(std::is_sorted(words.begin(), words.end()));
  CHECK(std::binary_search(words.begin(), words.end(), "nonlocal"));
  CHECK(std::binary_search(words.begin(), words.end(), "is"));
}

}  // namespace kiln::tools_test
