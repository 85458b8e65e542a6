// What stands for the terminal where there is none: pictures, lines that are drawn over again, input.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "interpreter/interpreter.h"

namespace kiln::frontend_test {

using namespace kiln::interp;

TEST_CASE("a frontend is given pictures as a PNG and as text", "[frontend]") {
  std::string png, text, printed;
  Options options;
  options.out = [&](std::string_view part) { printed += part; };
  options.frontend.show_picture = [&](std::string a, std::string b) {
    png = std::move(a);
    text = std::move(b);
  };
  Interpreter interpreter(options);
  interpreter.run("test", "plot([0, 4, 9, 16], height=6, width=40)");
  CHECK(png.starts_with("\x89PNG"));
  CHECK(text.find("16") == std::string::npos);
  CHECK(text.find("┤") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(printed.empty());
}

TEST_CASE("a frontend draws the lines of progress bars, and is told of their end", "[frontend]") {
  std::vector<const void*> owners;
  std::vector<std::vector<std::string>> drawn;
  std::string errors;
  Options options;
  options.err = [&](std::string_view part) { errors += part; };
  options.frontend.show_lines = [&](const void* owner, const std::vector<std::string>& lines) {
    owners.push_back(owner);
    drawn.push_back(lines);
  };
  Interpreter interpreter(options);
  interpreter.run("test", "for i in progress(range(3), desc=\"steps\") { }");
  REQUIRE(drawn.size() >= 3);
  CHECK(drawn.front().front().starts_with("steps:   0%"));
  CHECK(drawn[drawn.size() - 2].front().find("3/3") != std::string::npos);
  CHECK(drawn.back().empty());
  for (const void* owner : owners) CHECK(owner == owners.front());
  CHECK(errors.empty());
}

TEST_CASE("a frontend gives the line that input asks for", "[frontend]") {
  std::string asked;
  Options options;
  options.frontend.read_line = [&](const std::string& prompt) {
    asked = prompt;
    return std::string("seven");
  };
  Interpreter interpreter(options);
  const auto outcome = interpreter.run("test", "input(\"how many? \") + \"!\"");
  CHECK(asked == "how many? ");
  CHECK(interpreter.str(outcome.value) == "seven!");
}

}  // namespace kiln::frontend_test
