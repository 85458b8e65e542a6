// Places in files, and the spans of trees.
#include <catch2/catch.hpp>

#include "lang/utf8.h"
#include "lang/walk.h"
#include "support.h"

namespace kiln::source_test {

using namespace kiln::lang;

TEST_CASE("offsets are lines and columns of code points") {
  const SourceFile file("a", "ab\né日x\r\n\nend");
  const auto at = [&](std::uint32_t offset) {
    const LineColumn place = file.locate(offset);
    return std::to_string(place.line) + ":" + std::to_string(place.column);
  };
  CHECK(at(0) == "1:1");
  CHECK(at(2) == "1:3");
  CHECK(at(3) == "2:1");
  CHECK(at(5) == "2:2");
  CHECK(at(8) == "2:3");
  CHECK(at(static_cast<std::uint32_t>(file.text().size())) == "4:4");
  CHECK(at(100000) == "4:4");
  CHECK(file.line(1) == "ab");
  CHECK(file.line(2) == "é日x");
  CHECK(file.line(3).empty());
  CHECK(file.line(4) == "end");
  CHECK(file.line(5).empty());
  CHECK(file.line(0).empty());
  CHECK(file.line_count() == 4);
  CHECK(file.line_start(4) == 12);
}

TEST_CASE("sources stay where they are when more are added") {
  Sources sources;
  const SourceFile& first = sources.add("a", "1");
  for (int i = 0; i < 100; ++i) sources.add("b", "2");
  CHECK(first.name() == "a");
  CHECK(first.text() == "1");
}

TEST_CASE("UTF-8 is checked strictly") {
  CHECK(find_invalid_utf8("aé日🔥") == std::string_view::npos);
  for (const char* bad : {"\x80", "\xC0\xAF", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                          "\xFF", "\xF0\x9F\x94"}) {
    CHECK(find_invalid_utf8(std::string("ok") + bad) == 2);
  }
  std::string out;
  append_utf8(out, 0x1F525);
  append_utf8(out, 0xE9);
  append_utf8(out, 0x65E5);
  CHECK(out == "🔥é日");
}

namespace {

// The text of each node's span, in order of evaluation.
std::vector<std::string> spans(const std::string& source) {
  class Texts final : public Walker {
   public:
    using Walker::visit;
    std::vector<std::string> texts;
    void visit(Expr& e) override {
      texts.emplace_back(e.span.text());
      children(e);
    }
    void visit(Stmt& s) override {
      texts.emplace_back(s.span.text());
      children(s);
    }
  } found;
  const Parsed parsed(source);
  for (Stmt* s : parsed.ast->main->body->statements) found.visit(*s);
  return found.texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("spans cover what was written") {
  CHECK(spans("x = a + b * c") == Texts{"x = a + b * c", "a + b * c", "a", "b * c", "b", "c", "x"});
  CHECK(spans("(a + b) * c") == Texts{"(a + b) * c", "(a + b) * c", "(a + b)", "a", "b", "c"});
  CHECK(spans("f(x, k = v).y[0]") ==
        Texts{"f(x, k = v).y[0]", "f(x, k = v).y[0]", "f(x, k = v).y", "f(x, k = v)", "f", "x", "v", "0"});
  CHECK(spans("0 < x < 1") == Texts{"0 < x < 1", "0 < x < 1", "0", "x", "1"});
  CHECK(spans("-x ** 2") == Texts{"-x ** 2", "-x ** 2", "x ** 2", "x", "2"});
  CHECK(spans("a if c else b;") == Texts{"a if c else b", "a if c else b", "c", "a", "b"});
  CHECK(spans("(x, y = 1) => x") == Texts{"(x, y = 1) => x", "(x, y = 1) => x", "1", "x"});
  CHECK(spans("f\"a{x + 1:{w}}\"") ==
        Texts{"f\"a{x + 1:{w}}\"", "f\"a{x + 1:{w}}\"", "x + 1", "x", "1", "w"});
  CHECK(spans("if c { a }  # end") == Texts{"if c { a }", "c", "a", "a"});
  CHECK(spans("@jit\nfn f() = 1") == Texts{"@jit\nfn f() = 1", "jit", "fn f() = 1", "1"});
  CHECK(spans("x[1:, ::2]") == Texts{"x[1:, ::2]", "x[1:, ::2]", "x", "1:", "1", "::2", "2"});
}

TEST_CASE("names and operators have spans of their own") {
  const Parsed parsed("x.field + f(key = 1) not  in y");
  const auto& compare = as<CompareExpr>(*as<ExprStmt>(*parsed.ast->main->body->statements[0]).value);
  CHECK(compare.rest[0].op_span.text() == "not  in");
  const auto& sum = as<BinaryExpr>(*compare.first);
  CHECK(sum.op_span.text() == "+");
  CHECK(as<AttributeExpr>(*sum.left).name_span.text() == "field");
  CHECK(as<CallExpr>(*sum.right).arguments[0].name_span.text() == "key");
}

}  // namespace kiln::source_test
