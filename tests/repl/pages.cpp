// Help: every page's examples run and print what the page says; every op and host function has a page.
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "interpreter/values/natives.h"
#include "repl/command.h"
#include "repl/doctest.h"
#include "repl/documentation.h"
#include "repl/topics.h"
#include "tensor/op.h"

namespace kiln::pages_test {

using namespace kiln::repl;

namespace {

void check_page(std::string_view page) {
  Session session{{}};
  for (const Example& example : find_examples(page)) {
    const Result result = session.eval(example.entry);
    INFO(example.entry << "\n" << result.output << result.diagnostics);
    CHECK(result.status == Status::Done);
    if (!example.expected.empty()) CHECK(same_output(example.expected, result.output));
  }
}

std::string asked(const std::string& entry) {
  Session session{{}};
  const Result result = session.eval(entry);
  return result.output + result.diagnostics;
}

}  // namespace

TEST_CASE("examples of help topics run") {
  for (const Topic& topic : topics()) {
    INFO(topic.name);
    check_page(topic.page);
    CHECK(asked(":help " + std::string(topic.name)).find(topic.summary) != std::string::npos);
  }
}

TEST_CASE("examples of command pages run") {
  for (const Command* command : all_commands()) {
    INFO(command->name);
    check_page(command->page);
  }
}

TEST_CASE("each command names what does the same in a program, which runs, or says why there is nothing") {
  for (const Command* command : all_commands()) {
    INFO(command->name);
    const InPrograms& same = command->in_programs;
    CHECK(same.expression.empty() != same.why_none.empty());
    if (same.expression.empty()) continue;
    Session session{{}};
    session.eval("fn f(x) = x.cos() * 2; fn g(x) = x.sin() * 2; x = ones(3)");
    const Result result = session.eval("same = " + std::string(same.expression));
    INFO(result.diagnostics);
    const bool needs_what_is_not_here = result.diagnostics.starts_with("DeviceError");
    CHECK((result.status == Status::Done || result.status == Status::Quit || needs_what_is_not_here));
    CHECK(session.eval("?:" + std::string(command->name)).output.find(same.expression) != std::string::npos);
  }
}

TEST_CASE("functions do what commands do") {
  Session session{{}};
  session.eval("fn f(x) { y = x.exp() * x.exp(); if y.sum() > 0 { y = y.cos() }; return y * 2 }");
  session.eval("x = ones(64)");
  CHECK(session.eval("breaks(f, x)[0].reason").output == "'a condition on the elements of a tensor'\n");
  CHECK(session.eval("print(find_nan(f, x))").output == session.eval(":nan f(x)").output);
  CHECK(session.eval("\"softmax\" in [each.name for each in apropos(\"SOFTMAX\")]").output == "true\n");
  CHECK(session.eval("timeit(() => f(x), () => x + 1).ratio > 0").output == "true\n");
  CHECK(session.eval("html(print)").diagnostics.find("CaptureError: there is nothing to draw") == 0);
  const std::string path = (std::filesystem::temp_directory_path() / "kiln-test-function.html").string();
  CHECK(session.eval("html(f, x=x, path=\"" + path + "\")").output == "'" + path + "'\n");
  CHECK(read_text(path).find("<title>f(x=f32[64])") != std::string::npos);
  std::filesystem::remove(path);
}

TEST_CASE("every op has a page with its signature and a sentence") {
  Session session{{}};
  for (const kiln::Op* op : kiln::OpTable::get().ops()) {
    const std::string name(op->name().substr(0, op->name().find('.')));
    const auto page = find_page(session, name);
    INFO(name);
    REQUIRE(page);
    CHECK_FALSE(page->signatures.empty());
    CHECK_FALSE(page->documentation.empty());
  }
}

TEST_CASE("examples of ops run and print what they say") {
  Session session{{}};
  for (const kiln::Op* op : kiln::OpTable::get().ops()) {
    INFO(op->name());
    check_page(op->example);
  }
}

TEST_CASE("everything in the prelude has a page") {
  Session session{{}};
  for (const std::string& name : session.interpreter().names()) {
    INFO(name);
    const auto page = find_page(session, name);
    REQUIRE(page);
    CHECK_FALSE(render(*page, false).empty());
  }
}

TEST_CASE("functions and structs show signature, documentation and source") {
  Session session{{}};
  session.eval(
      "## Doubles a number.\n## >>> double(2)\n## 4\nfn double(x: float, n = 2) {\n  return x * n\n}");
  const std::string page = session.eval("?double").output;
  CHECK(page.find("fn double(x: float, n = 2)\n") == 0);
  CHECK(page.find("Doubles a number.") != std::string::npos);
  const std::string source = session.eval("??double").output;
  CHECK(source.find("# <prompt:1>:1\n## Doubles a number.") == 0);
  CHECK(source.find("  return x * n\n}\n") != std::string::npos);
  session.eval("## A place.\nstruct Point { x; y = 0  fn norm(self) = self.x }");
  CHECK(session.eval("?Point").output.find("A place.") != std::string::npos);
  CHECK(session.eval("??Point").output.find("struct Point {") != std::string::npos);
  session.eval("p = Point(1)");
  CHECK(session.eval("?p").output.find("an instance of Point") != std::string::npos);
}

TEST_CASE("ops and host functions are explained, their source is ours") {
  CHECK(asked("?relu").find("relu(") == 0);
  CHECK(asked("?clip").find("clamp(") == 0);
  CHECK(asked("?clip_").find("Writes into its first argument") != std::string::npos);
  CHECK(asked("?relu_").find("Writes into its first argument") != std::string::npos);
  CHECK(asked("?list.append").find("append(") == 0);
  CHECK(asked("?append").find("method of list") != std::string::npos);
  CHECK(asked("??relu").find("return x <= T(0) ? T(0) : x;") != std::string::npos);
  CHECK(asked("??relu").find("for a gradient g of the result y: drop(y <= 0.0, g)") != std::string::npos);
  CHECK(asked("??softmax").find("row `softmax` of the op table") != std::string::npos);
  CHECK(asked("??print").find("part of kiln itself") != std::string::npos);
  CHECK(asked("?:time").find(":time e") == 0);
  CHECK(asked("?nn").find("module") != std::string::npos);
  CHECK(asked("??nn.Linear").find("fn init(") != std::string::npos);
}

TEST_CASE("asking for what nobody knows names the nearest") {
  CHECK(asked("?rleu").find("did you mean `relu`?") != std::string::npos);
  CHECK(asked("?").find(":doc name") != std::string::npos);
  CHECK(asked(":apropos").find("usage: `:apropos word`") != std::string::npos);
  CHECK(asked(":apropos zzzzzz").find("nothing mentions") == 0);
  CHECK(asked(":apropos softmax").find("log_softmax") != std::string::npos);
}

}  // namespace kiln::pages_test
