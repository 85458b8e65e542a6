// What is read of a text with mistakes, and which edits helps describe.
#include <catch2/catch.hpp>

#include "lang/fix.h"
#include "lang/parse.h"

namespace kiln::lang::tolerant_test {
namespace {

std::size_t statements_of(const std::string& text) {
  const SourceFile file("<test>", text);
  return parse_tolerantly(file).ast->main->body->statements.size();
}

std::vector<std::string> mistakes_of(const std::string& text) {
  const SourceFile file("<test>", text);
  std::vector<std::string> messages;
  for (const Diagnostic& each : parse_tolerantly(file).mistakes) messages.push_back(each.message);
  return messages;
}

TEST_CASE("statements beside a mistake are read", "[tolerant]") {
  CHECK(statements_of("a = 1\nb = = 2\nc = 3\n") == 2);
  CHECK(statements_of("fn f( {\n  return 1\n}\nfn g() { return 2 }\n") == 1);
  CHECK(statements_of("\xEF\xBB\xBF"
                      "a = 1\r\nb = )\r\nc = 3\r\n") == 2);
  CHECK(statements_of("") == 0);
  CHECK(statements_of("a = 1\n\xFF\xFE\nb = 2\n") == 1);
  CHECK(mistakes_of("a = 1\nb = = 2\nc = )\n").size() == 2);
}

TEST_CASE("each misuse of a name is found, and the other statements are resolved", "[tolerant]") {
  const SourceFile file("<test>", "return 1\nfn f(a, a) { return a }\nfn g(x) { return x }\nbreak\n");
  const TolerantAst read = parse_tolerantly(file);
  CHECK(read.mistakes.size() == 3);
  const auto& g = as<FunctionStmt>(*read.ast->main->body->statements[2]);
  CHECK(g.function->parameters[0].binding.place == Place::Local);
  CHECK(g.binding.place == Place::Global);
}

// The text with the fix of its first mistake of syntax.
std::string fixed_syntax(const std::string& text) {
  const SourceFile file("<test>", text);
  const auto fix = fix_of(syntax_mistakes(file).at(0));
  if (!fix) return "";
  return std::string(text).replace(fix->span.begin, fix->span.end - fix->span.begin, fix->text);
}

TEST_CASE("helps that say what to write are edits", "[tolerant][fix]") {
  CHECK(fixed_syntax("if a && b { }\n") == "if a and b { }\n");
  CHECK(fixed_syntax("x = 3 \xC3\x97 4\n") == "x = 3 * 4\n");
  CHECK(fixed_syntax("x = 3 <> 4\n").empty());  // one sign of two is not the whole
  CHECK(fixed_syntax("raise \"no\"\n") == "throw \"no\"\n");
  CHECK(fixed_syntax("x\xE2\x80\x8B = 1\n") == "x = 1\n");
}

TEST_CASE("helps that show a form are no edits", "[tolerant][fix]") {
  CHECK(fixed_syntax("class A { }\n").empty());
  CHECK(fixed_syntax("x++\n").empty());
  CHECK(fixed_syntax("f(x: 3)\n").empty());
}

TEST_CASE("the name that a message speaks of is what a fix replaces", "[tolerant][fix]") {
  const SourceFile file("<test>", "nn.Lineer(3, 4)\n");
  const Diagnostic member{"AttributeError",
                          "module nn has no field or method `Lineer`",
                          {{{&file, 0, 15}, ""}},
                          "did you mean `Linear`?",
                          {}};
  const auto fix = fix_of(member);
  REQUIRE(fix);
  CHECK(fix->span.text() == "Lineer");
  CHECK(fix->text == "Linear");
  const SourceFile product("<test>", "h = x @ w2\n");
  const Diagnostic operands{"ShapeError",
                            "cannot multiply f32[2] by f32[3]",
                            {{{&product, 6, 7}, ""}, {{&product, 4, 5}, "x"}, {{&product, 8, 10}, "w2"}},
                            "`w1` is f32[2]; did you mean `x @ w1`?",
                            {}};
  const auto product_fix = fix_of(operands);
  REQUIRE(product_fix);
  CHECK(product_fix->span.text() == "x @ w2");
  CHECK(product_fix->text == "x @ w1");
  const Diagnostic form{"AttributeError",
                        "f32[2] has no field or method `astype`",
                        {{{&file, 0, 15}, ""}},
                        "write `x.to(f64)`",
                        {}};
  CHECK_FALSE(fix_of(form));
}

}  // namespace
}  // namespace kiln::lang::tolerant_test
