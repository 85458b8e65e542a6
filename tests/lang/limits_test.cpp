// Input of any size, depth or bytes is a tree or a diagnostic.
#include <catch2/catch.hpp>

#include "support.h"

namespace kiln::limits_test {

using namespace kiln::lang;

namespace {

std::string times(std::size_t count, const std::string& text) {
  std::string out;
  out.reserve(count * text.size());
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

}  // namespace

TEST_CASE("nesting deeper than the limit is an error, whatever nests") {
  const std::size_t deep = 100'000;
  const std::string sources[] = {
      times(deep, "("),
      times(deep, "["),
      "x = " + times(deep, "{1: "),
      times(deep, "f("),
      times(deep, "x["),
      times(deep, "-") + "x",
      times(deep, "not ") + "x",
      times(deep, "x => "),
      times(deep, "a if b else ") + "c",
      times(deep, "a ** ") + "b",
      times(deep, "a + ") + "b",
      times(deep, "a and ") + "b",
      "a" + times(deep, ".b"),
      "a" + times(deep, "()"),
      "a" + times(deep, "[0]"),
      times(deep, "if a { "),
      times(deep, "fn f() { "),
      times(deep, "if a { } else "),
      times(deep, "struct S { fn f() { "),
      times(deep, "fn() = "),
      "[x " + times(deep, "for x in y ") + "]",
      "x = " + times(deep, "(") + times(deep, ")"),
      times(deep, "(a, ") + "b" + times(deep, ")") + " = c",
      "fn f(x: f32[" + times(deep, "(") + "b",
      times(deep, "with a { "),
      times(deep, "try { "),
      times(deep, "f(fn() { "),
      times(deep, "a[b:"),
  };
  for (const std::string& source : sources) {
    INFO(source.substr(0, 20));
    CHECK(message(source).find("nested too deeply: more than 500 levels") != std::string::npos);
  }
}

TEST_CASE("nesting near the limit works, and so do passes that recurse") {
  for (const std::string& source :
       {times(400, "(") + "x" + times(400, ")"), times(200, "f(") + "x" + times(200, ")"),
        times(200, "if a { ") + "x" + times(200, " }"), times(450, "-") + "x", times(400, "a + ") + "b",
        times(200, "x => ") + "x", times(240, "[") + times(240, "]")}) {
    const Parsed parsed(source, true);
    CHECK(!dump(*parsed.ast).empty());
    CHECK(tree(formatted(source)) == tree(source));
  }
}

TEST_CASE("expressions in f-strings count towards the depth around them") {
  const auto nested = [](std::size_t outer, std::size_t inner) {
    return times(outer, "f(") + "f'{" + times(inner, "f(") + "x" + times(inner, ")") + "}'" +
           times(outer, ")");
  };
  CHECK(message(nested(100, 100)).empty());
  CHECK(message(nested(200, 200)).find("nested too deeply") != std::string::npos);
}

// A parser that takes more than linear time does not end before the tests do.
TEST_CASE("ten megabytes of statements parse") {
  const std::string source = times(10'000'000 / 40, "x.sum(dim=0) + f(3.5, \"abc\") * y  # note\n");
  const Parsed parsed(source, true);
  CHECK(parsed.ast->main->body->statements.size() == 250'000);
}

TEST_CASE("one statement of millions of tokens is refused in words") {
  CHECK(message("x = [" + times(2'500'000, "1,") + "]") ==
        "this statement is too long: it has more than 4 million tokens");
}

TEST_CASE("ten megabytes of one token") {
  CHECK_NOTHROW(tree("\"" + std::string(10'000'000, 'a') + "\""));
  CHECK_NOTHROW(tree("# " + std::string(10'000'000, 'a')));
  CHECK_NOTHROW(tree(std::string(10'000'000, '\n')));
  CHECK_NOTHROW(tree(std::string(10'000'000, 'a')));
  CHECK(message(std::string(10'000'000, '1')) == "this integer does not fit into 64 bits");
  CHECK(message("\"" + std::string(10'000'000, 'a')) ==
        "this string is not closed before the end of its line");
}

TEST_CASE("invalid UTF-8 is a diagnostic that points at the byte") {
  CHECK(complaint("x = 1\ny = \"\xff\"\n") ==
        "SyntaxError: this file is not UTF-8: found the byte 0xFF\n"
        " --> test.kiln:2:6\n  |\n2 | y = \"\uFFFD\"\n  |      ^\nhelp: save it as UTF-8\n");
  CHECK(message("# \xC3(") == "this file is not UTF-8: found the byte 0xC3");
  CHECK(message(std::string("x\0y", 3)) == "unexpected invisible character: null (U+0000)");
  CHECK(message("x\x7fy") == "unexpected invisible character: delete (U+007F)");
}

TEST_CASE("characters that cannot be seen are told by their names") {
  const auto found = [](const std::string& name) { return "unexpected invisible character: " + name; };
  CHECK(message("x\u200By = 1") == found("zero width space (U+200B)"));
  CHECK(message("1\u200D + 2") == found("zero width joiner (U+200D)"));
  CHECK(message("f(\u2066x)") == found("left-to-right isolate (U+2066)"));
  CHECK(message("x\uFE0F = 1") == found("variation selector 16 (U+FE0F)"));
  CHECK(message("x\U000E0100 = 1") == found("variation selector 17 (U+E0100)"));
  CHECK(message("return\u00ADx") == found("soft hyphen (U+00AD)"));
  CHECK(message("x \uFEFF= 1") == found("zero width no-break space (U+FEFF)"));
  CHECK(message("x = \u3164") == found("hangul filler (U+3164)"));
  CHECK(message("x = f'{\u200By}'") == found("zero width space (U+200B)"));
  CHECK(message("x\u00A0= 1") == "unexpected no-break space (U+00A0)");
  CHECK(message("x =\u2009 1") == "unexpected thin space (U+2009)");
  CHECK(message("x = '\u200B'  # \u200B").empty());
}

TEST_CASE("every prefix of a program is a tree or a diagnostic") {
  const std::string source =
      "## Doc.\n@jit\nfn f(x: f32[b, ...], *r, **k) -> f32[b] {\n  if x > 0 and not y { return "
      "f\"{x!r:>{w}}\" }\n"
      "  for i, (a, *b) in xs { x[i, ::2] += [e ** -2 for e in b if e] }\n  try { g(a=1, *b) } catch e { "
      "throw '''z''' }\n"
      "}\nstruct S { w; b = none  fn c(self) = {1: 2}[1] }\n(y, z = 1) => y\nimport \"./a\" as a\n";
  for (std::size_t size = 0; size <= source.size(); ++size) {
    INFO(source.substr(0, size));
    CHECK_NOTHROW(complaint(source.substr(0, size)));
    CHECK_NOTHROW(complaint(source.substr(size)));
  }
}

}  // namespace kiln::limits_test
