// Cells of a notebook: several entries at once, whose values and errors go where the notebook shows them.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "repl/cell.h"
#include "repl/session.h"

namespace kiln::cells_test {

using namespace kiln::repl;
using kiln::lang::Completeness;

namespace {

using Parts = std::vector<std::string_view>;

// What a notebook would be given.
struct Shown {
  std::string text;
  std::vector<std::string> values;
  std::vector<kiln::lang::Diagnostic> errors;
  Session session;

  Shown() : session(options()) {}
  Session::Options options() {
    Session::Options options;
    options.out = options.err = [this](std::string_view part) { text += part; };
    options.show_value = [this](const kiln::interp::Value& v) {
      values.push_back(shown(session.interpreter(), v));
    };
    options.show_failure = [this](const kiln::lang::Diagnostic& error) { errors.push_back(error); };
    return options;
  }
};

}  // namespace

TEST_CASE("a cell is text of the language with commands on lines of their own", "[cells]") {
  CHECK(split_cell("x = 1\nx + 1") == Parts{"x = 1\nx + 1"});
  CHECK(split_cell("x = 1\n:type x\nx") == Parts{"x = 1\n", ":type x\n", "x"});
  CHECK(split_cell("?relu\n??relu") == Parts{"?relu\n", "??relu"});
  CHECK(split_cell(":time f(\n  1)\ny") == Parts{":time f(\n  1)\n", "y"});
  CHECK(split_cell("x[1\n:2]") == Parts{"x[1\n:2]"});
  CHECK(split_cell("fn f() {\n  1\n}\n!ls") == Parts{"fn f() {\n  1\n}\n", "!ls"});
  CHECK(split_cell("").empty());
}

TEST_CASE("the last part of a cell decides whether it is complete", "[cells]") {
  CHECK(cell_completeness("x = 1") == Completeness::Complete);
  CHECK(cell_completeness("x = 1\nfn f() {") == Completeness::Incomplete);
  CHECK(cell_completeness(":time f(") == Completeness::Incomplete);
  CHECK(cell_completeness(":help") == Completeness::Complete);
  CHECK(cell_completeness("1 +* 2") == Completeness::Invalid);
}

TEST_CASE("a cell is one entry, and its value has the number of the cell", "[cells]") {
  Shown cell;
  CHECK(cell.session.eval_cell("x = 2\n:type x\nx * 21").status == Status::Done);
  CHECK(cell.text == "int\n");
  CHECK(cell.values == std::vector<std::string>{"42\n"});
  CHECK(cell.session.eval_cell("_1 + _").status == Status::Done);
  CHECK(cell.values.back() == "84\n");
  CHECK(cell.session.log().current_number() == 2);
  CHECK(cell.session.eval_cell("_ + 1", false).status == Status::Done);
  CHECK(cell.values.back() == "85\n");
  CHECK(cell.session.log().current_number() == 2);
}

TEST_CASE("an error ends a cell, and names its line in the cell", "[cells]") {
  Shown cell;
  CHECK(cell.session.eval_cell(":type 1\nx = 1\nnobody\n:type 2").status == Status::Error);
  REQUIRE(cell.errors.size() == 1);
  CHECK(cell.errors.front().kind == "NameError");
  CHECK(kiln::lang::render(cell.errors.front()).find(":3:1") != std::string::npos);
  CHECK(cell.text == "int\n");
  CHECK(cell.session.eval_cell("x").status == Status::Done);
}

TEST_CASE("what can not go on in a cell is an error", "[cells]") {
  Shown cell;
  CHECK(cell.session.eval_cell("fn f(x) {").status == Status::Error);
  REQUIRE(cell.errors.size() == 1);
  CHECK(cell.errors.front().kind == "SyntaxError");
}

TEST_CASE("a transcript runs in a cell as it does at the prompt", "[cells]") {
  Shown cell;
  cell.session.eval_cell("kiln> x = 3\nkiln> x + 1\n4\n");
  CHECK(cell.values == std::vector<std::string>{"4\n"});
}

TEST_CASE("a page without a file is shown in the notebook", "[cells]") {
  std::string html;
  Session::Options options;
  options.show_page = [&](const std::string& page) { html = page; };
  Session session(std::move(options));
  CHECK(session.eval_cell(":html cos(ones(3))").output.empty());
  CHECK(html.find("cos(ones(3))") != std::string::npos);
  CHECK(html.starts_with("<!"));
}

}  // namespace kiln::cells_test
