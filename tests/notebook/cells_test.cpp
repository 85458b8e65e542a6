// Cells of a notebook: what a client is told while they run, in its order.
#include <catch2/catch.hpp>

#include <csignal>
#include <thread>

#include "notebook/notebook.h"
#include "tensor/interrupt.h"
#include "tests/notebook/recorder.h"

namespace kiln::cells_test {

using namespace kiln::notebook;
using kiln::repl::Status;

TEST_CASE("a tensor is shown as the prompt prints it and as a table", "[notebook]") {
  Recorder told;
  Notebook notebook(told, {});
  CHECK(notebook.run("tensor([[1.5, 2.0], [3.0, 4.0]])", {}).status == Status::Done);
  REQUIRE(told.kinds() == "result");
  const Json& bundle = told.all.front().data;
  CHECK(bundle["text/plain"] == "f32[2, 2] cpu 16 B\n[[1.5000, 2.0000],\n [3.0000, 4.0000]]");
  CHECK(bundle["text/html"].get<std::string>().find("<th>1</th><td>3.0000</td><td>4.0000</td>") !=
        std::string::npos);
}

TEST_CASE("tables are elided as texts are, and a tensor of rank 3 is several", "[notebook]") {
  Recorder told;
  Notebook notebook(told, {});
  notebook.run("zeros(9, 40, 50)", {});
  const std::string html = told.all.front().data["text/html"];
  const auto count = [&](std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = html.find(part); at != std::string::npos; at = html.find(part, at + 1)) ++found;
    return found;
  };
  CHECK(count("<table>") == 6);
  CHECK(count("<code>[8]</code>") == 1);
  CHECK(count("<p>…</p>") == 1);
  CHECK(count("<td>0.</td>") == 6 * 36);
  notebook.run("zeros(2, 2, 2, 2)", {});
  CHECK_FALSE(told.all.back().data.contains("text/html"));
  notebook.run("tensor(3.0)", {});
  CHECK_FALSE(told.all.back().data.contains("text/html"));
}

TEST_CASE("text goes out in order with what else is shown", "[notebook]") {
  Recorder told;
  Notebook notebook(told, {});
  notebook.run(
      "print(1)\nprint(2)\nplot([0, 4, 9, 16], height=6, width=40)\nprint(3, file=\"stderr\")\nprint(4)\n5",
      {});
  CHECK(told.kinds() == "stdout display stderr stdout result");
  CHECK(told.all[0].text == "1\n2\n");
  CHECK(told.all[1].data.contains("image/png"));
  CHECK(told.all[1].data["text/plain"].get<std::string>().find("┤") != std::string::npos);
  CHECK(told.all[4].data["text/plain"] == "5");
}

TEST_CASE("an error has its place, and the colours of a terminal", "[notebook]") {
  Recorder told;
  Notebook notebook(told, {});
  const CellReply reply = notebook.run("x = ones(2, 3)\nx @ x", {});
  CHECK(reply.status == Status::Error);
  REQUIRE(told.kinds() == "error");
  const CellError& error = told.all.front().error;
  CHECK(error.name == "ShapeError");
  std::string text;
  for (const std::string& line : error.traceback) text += line + "\n";
  CHECK(text.find("<prompt:1>:2:") != std::string::npos);
  CHECK(text.find('^') != std::string::npos);
  CHECK(text.find("\x1b[") != std::string::npos);
  CHECK(notebook.run("x.shape", {}).status == Status::Done);
}

TEST_CASE("progress is one display that is shown anew", "[notebook]") {
  Recorder told;
  Notebook notebook(told, {});
  notebook.run("for i in progress(range(3)) { }", {});
  REQUIRE(told.all.size() >= 2);
  CHECK(told.all.front().kind == "display");
  CHECK_FALSE(told.all.front().text.empty());
  for (std::size_t i = 1; i < told.all.size(); ++i) {
    CHECK(told.all[i].kind == "update");
    CHECK(told.all[i].text == told.all.front().text);
  }
  CHECK(told.all.back().data["text/plain"].get<std::string>().find("3/3") != std::string::npos);
}

TEST_CASE("a silent cell shows no value and no error, and has no number", "[notebook]") {
  Recorder told;
  Notebook notebook(told, {});
  CHECK(notebook.run("x = 20\nx", {.silent = true}).status == Status::Done);
  CHECK(notebook.run("nobody", {.silent = true}).error->name == "NameError");
  CHECK(told.all.empty());
  notebook.run("x + 1", {});
  CHECK(notebook.past().last(5).front().number == 1);
}

TEST_CASE("expressions of a request are evaluated behind the cell", "[notebook]") {
  Recorder told;
  Notebook notebook(told, {});
  const CellReply reply = notebook.run("x = 2", {.expressions = {{"a", "x * 2"}, {"b", "nobody"}}});
  CHECK(reply.expressions["a"]["data"]["text/plain"] == "4");
  CHECK(reply.expressions["b"]["ename"] == "NameError");
  CHECK(told.all.empty());
}

TEST_CASE("input is asked of the client, where it can be asked", "[notebook]") {
  Recorder told;
  Notebook notebook(told, {});
  told.answer = "Ada";
  notebook.run("print(\"hello\")\ninput(\"name? \")", {});
  CHECK(told.kinds() == "stdout ask result");
  CHECK(told.all[1].text == "name? ");
  CHECK(told.all[2].data["text/plain"] == "'Ada'");
  CHECK(notebook.run("input()", {.may_ask = false}).error->name == "IOError");
}

TEST_CASE("what programs that a cell starts write is part of its output", "[notebook]") {
  Recorder told;
  Notebook notebook(told, {.captures = true});
  notebook.run("print(1)\n!echo two\nprint(3)\n!echo four >&2", {});
  CHECK(told.kinds() == "stdout stderr");
  CHECK(told.all[0].text == "1\ntwo\n3\n");
  CHECK(told.all[1].text == "four\n");
}

TEST_CASE("text waits for a moment, and comes before the cell ends", "[notebook]") {
  Recorder told;
  Notebook notebook(told, {});
  std::size_t seen = 0;
  const pthread_t main = pthread_self();
  std::thread other([&] {
    for (int i = 0; i < 200 && seen == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      seen = told.count();
    }
    pthread_kill(main, SIGUSR1);
  });
  signal(SIGUSR1, [](int) { kiln::interrupt_requested = true; });
  CHECK(notebook.run("print(1)\nsleep(30)", {}).status == Status::Interrupted);
  other.join();
  CHECK(seen == 1);
  signal(SIGUSR1, SIG_DFL);
}

TEST_CASE("the page of a call is shown in a frame", "[notebook]") {
  Recorder told;
  Notebook notebook(told, {});
  notebook.run(":html cos(ones(3))", {});
  REQUIRE(told.kinds() == "display");
  const std::string html = told.all.front().data["text/html"];
  CHECK(html.starts_with("<iframe"));
  CHECK(html.find("srcdoc=\"&lt;!") != std::string::npos);
}

}  // namespace kiln::cells_test
