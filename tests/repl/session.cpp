// Session::eval: what entries print, and that nothing an entry does ends the session.
#include "repl/session.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <thread>

#include "interpreter/values/natives.h"
#include "repl/command.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tests/repl/talk.h"

namespace kiln::session_test {

using namespace kiln::repl;

namespace {

Session::Options plain() { return {}; }

void write_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("an expression is printed, `;` suppresses, `_` is the last value") {
  Talk talk;
  CHECK(talk("1 + 2") == "3\n");
  CHECK(talk("_ * 2") == "6\n");
  CHECK(talk("7;").empty());
  CHECK(talk("_") == "6\n");
  CHECK(talk("none").empty());
  CHECK(talk("x = 5").empty());
  CHECK(talk("'a' + \"b\"") == "'ab'\n");
}

TEST_CASE("output and diagnostics are apart") {
  Session session(plain());
  const Result result = session.eval("print(\"before\")\nnobody");
  CHECK(result.output == "before\n");
  CHECK(result.diagnostics.starts_with("NameError: "));
  CHECK(result.status == Status::Error);
  CHECK(result.exit_code == 1);
  CHECK(session.eval("1 +* 2").exit_code == 2);
}

TEST_CASE("an unfinished entry runs nothing") {
  Session session(plain());
  CHECK(session.eval("fn f(x) {").status == Status::Incomplete);
  CHECK(session.eval("x = [1,").status == Status::Incomplete);
  CHECK(session.interpreter().main().find("x") == nullptr);
}

TEST_CASE("an error keeps every binding") {
  Talk talk;
  talk("x = 3");
  talk("x = 4\nx + nobody");
  CHECK(talk("x") == "4\n");
}

TEST_CASE("exit and :quit end the session with a code") {
  Session session(plain());
  CHECK(session.eval("exit(3)").status == Status::Quit);
  CHECK(session.eval("exit(3)").exit_code == 3);
  CHECK(session.eval(":quit").status == Status::Quit);
  CHECK(session.eval(":quit 4").exit_code == 4);
}

TEST_CASE("a pasted transcript runs entry by entry") {
  Talk talk;
  CHECK(talk("kiln> x = 1\nkiln> x + 1\n2\nkiln> x + 2\n3") == "2\n3\n");
}

TEST_CASE("an interrupt stops the entry and not the session") {
  Session session(plain());
  session.eval("n = 0");
  std::thread other([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kiln::interrupt_requested.store(true);
  });
  const Result result = session.eval("while true { n += 1 }");
  other.join();
  CHECK(result.status == Status::Interrupted);
  CHECK(result.exit_code == 130);
  CHECK(result.diagnostics.starts_with("Interrupted"));
  CHECK(session.eval("n > 0").output == "true\n");
}

TEST_CASE("an internal failure says so, keeps the session and writes a script that reproduces it") {
  const std::string folder = "/tmp";
  Session::Options options;
  options.state_folder = [&] { return folder; };
  Session session(std::move(options));
  session.eval("kept = 11");
  const auto fail = [](kiln::interp::Interpreter&, std::span<kiln::interp::Value>) -> kiln::interp::Value {
    throw kiln::InternalError("the test wants this");
  };
  session.interpreter().main().set("broken", kiln::interp::make_native({"broken()", "Fails.", fail}));
  const Result result = session.eval("broken()");
  CHECK(result.status == Status::Error);
  CHECK(result.diagnostics.find("kiln itself failed") != std::string::npos);
  CHECK(result.diagnostics.find("the test wants this") == std::string::npos);
  const std::size_t at = result.diagnostics.find("/tmp/failure-");
  REQUIRE(at != std::string::npos);
  const std::string path = result.diagnostics.substr(at, result.diagnostics.find('\n', at) - at);
  const std::string script = read_text(path);
  CHECK(script.find("kept = 11") != std::string::npos);
  CHECK(script.find("broken()") != std::string::npos);
  std::remove(path.c_str());
  CHECK(session.eval("kept").output == "11\n");
}

TEST_CASE("the session saves as a script that runs again") {
  const std::string path = "/tmp/kiln-test-saved.kiln";
  Talk talk;
  talk("x = 2");
  talk("oops");
  talk("fn f(y) {\n  return x * y\n}");
  talk(":who");
  CHECK(talk(":save " + path) == "wrote 2 entries to " + path + "\n");
  Talk again;
  CHECK(again(":load " + path).empty());
  CHECK(again("f(21)") == "42\n");
  std::remove(path.c_str());
}

TEST_CASE(":load and :reload run a file in the session") {
  const std::string path = "/tmp/kiln-test-loaded.kiln";
  write_file(path, "fn size() = 1\n");
  Talk talk;
  CHECK(talk(":load " + path).empty());
  CHECK(talk("size()") == "1\n");
  write_file(path, "fn size() = 2\n");
  CHECK(talk(":reload").empty());
  CHECK(talk("size()") == "2\n");
  std::remove(path.c_str());
  CHECK(talk(":reload").starts_with("IOError: cannot read '" + path + "': there is no such file"));
  CHECK(talk("size()") == "2\n");
}

TEST_CASE("files that are no programs are refused in words") {
  Talk talk;
  CHECK(talk(":load /").starts_with("IOError: cannot read '/': it is a directory"));
  CHECK(talk(":load /nowhere/x").starts_with("IOError: cannot read '/nowhere/x': there is no such file"));
  write_file("/tmp/kiln-test-binary", std::string("\x7f"
                                                  "ELF\0\1",
                                                  6));
  CHECK(talk(":load /tmp/kiln-test-binary")
            .starts_with("IOError: cannot read '/tmp/kiln-test-binary': it is not text"));
  std::remove("/tmp/kiln-test-binary");
}

TEST_CASE(":set changes how values print and refuses nonsense") {
  Talk talk;
  const kiln::interp::PrintOptions before = kiln::interp::print_options();
  CHECK(talk(":set precision 2").empty());
  CHECK(kiln::interp::print_options().precision == 2);
  CHECK(talk(":set precision") == "precision is 2 (0 to 17)\n");
  CHECK(talk(":set precision many").starts_with("ValueError: `precision` takes a whole number from 0 to 17"));
  CHECK(talk(":set precison 3").find("did you mean `:set precision`?") != std::string::npos);
  CHECK(talk(":set device moon").starts_with("DeviceError"));
  CHECK(talk(":set").find("threads") != std::string::npos);
  kiln::interp::print_options() = before;
}

TEST_CASE(":reset forgets") {
  Talk talk;
  talk("x = 1");
  talk(":reset");
  CHECK(talk("x").starts_with("NameError"));
  CHECK(talk("1 + 1") == "2\n");
}

TEST_CASE("a mistyped command names the nearest") {
  Talk talk;
  CHECK(talk(":tmie 1") == "NameError: there is no command `:tmie`\nhelp: did you mean `:time`?\n");
  CHECK(talk(":xyzzy").find("`:help` lists the commands") != std::string::npos);
  CHECK(talk(":").starts_with("NameError"));
}

TEST_CASE("words of other prompts do what they do there") {
  Talk talk;
  CHECK(talk("relu?") == talk("?relu"));
  talk("fn double(x) = 2 * x");
  CHECK(talk("double??") == talk("??double"));
  for (const std::string_view each : {"exit", "quit", ":q", ":exit", ":quit"})
    CHECK(Session({}).eval(each).status == Status::Quit);
  CHECK(Session({}).eval(":q 3").exit_code == 3);
  talk("quit = 7");
  CHECK(talk("quit") == "7\n");
  CHECK(talk("!exit 3") == "exit code 3\n");
  CHECK(talk("!true").empty());
  CHECK(talk("1 != 2") == "true\n");
}

TEST_CASE("several commands in one entry are several") {
  Talk talk;
  talk("x = 1");
  CHECK(talk(":type x\n:type x + 0.5\n") == "int\nfloat\n");
  CHECK(talk(":type (1 +\n  0.5)\n") == "float\n");
}

TEST_CASE("timing prints times") {
  Talk talk;
  const std::string once = talk(":time 1 + 1");
  CHECK(once.starts_with("2\nparse "));
  CHECK(once.find(", compile ") != std::string::npos);
  CHECK(once.find(", run ") != std::string::npos);
  talk("x = 1");
  const std::string loops = talk(":timeit x + 1");
  CHECK(loops.find(" per loop, from ") != std::string::npos);
  CHECK(talk(":timeit nobody").starts_with("NameError"));
  CHECK(talk(":time").find("usage: `:time e`") != std::string::npos);
}

TEST_CASE("every command has a line, a group and a page whose examples run") {
  for (const Command* command : all_commands()) {
    INFO(command->name);
    CHECK_FALSE(command->summary.empty());
    CHECK_FALSE(command->group.empty());
    CHECK(find_command(command->name) == command);
    Talk talk;
    CHECK(talk(":help " + std::string(command->name)).find(command->summary) != std::string::npos);
  }
}

TEST_CASE("nonlocal means a variable of an entry before", "[session]") {
  Session session{{}};
  session.eval("n = 0");
  CHECK(session.eval("fn count() { nonlocal n; n += 1 }\ncount()\nn").output == "1\n");
  CHECK(session.eval("fn f() { nonlocal nothing; nothing = 1 }").diagnostics.starts_with("SyntaxError"));
}

}  // namespace kiln::session_test
