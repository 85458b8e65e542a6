// Commands that measure: what they say of work that is not done, compiled behind, or done on other devices.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "repl/stopwatch.h"
#include "repl/written_call.h"
#include "tests/repl/talk.h"

namespace kiln::timing_test {

using namespace kiln::repl;

namespace {

// The seconds in front of a text: "712 µs per loop".
double seconds_in(const std::string& text) {
  std::size_t end = 0;
  const double amount = std::stod(text, &end);
  const std::string unit = text.substr(end + 1, text.find_first_of(" ,", end + 1) - end - 1);
  return amount * (unit == "s" ? 1 : unit == "ms" ? 1e-3 : unit == "µs" ? 1e-6 : 1e-9);
}

}  // namespace

TEST_CASE("a result that is not used is computed all the same", "[timing]") {
  Talk talk;
  talk("big = ones(1000000)");
  // Memory of 4 MB cannot be written in less.
  CHECK(seconds_in(talk(":timeit big.exp()")) > 20e-6);
  CHECK(seconds_in(talk(":timeit y = big + 1; y * 2")) > 20e-6);
}

TEST_CASE("two expressions are compared by their ratio", "[timing]") {
  Talk talk;
  talk("x = ones(100000)");
  const std::string said = talk(":timeit [x.exp() for i in range(8)] | x.exp()");
  CHECK(said.find("x.exp()\n") != std::string::npos);
  const std::string start = "the first takes ";
  const double ratio = std::stod(said.substr(said.find(start) + start.size()));
  CHECK(ratio > 3);
  CHECK(ratio < 20);
  CHECK(said.find(", 95 % between ") != std::string::npos);
  CHECK(talk(":timeit 1 | 2 | 3").find("two are compared") != std::string::npos);
  CHECK(talk(":timeit 1 |").find("on either side of |") != std::string::npos);
  CHECK(talk(":timeit (1 | 2)").find(" per loop, from ") != std::string::npos);
}

TEST_CASE("an expression is apart at bars outside of brackets and strings", "[timing]") {
  using Parts = std::vector<std::string_view>;
  CHECK(alternatives("a | b") == Parts{"a", "b"});
  CHECK(alternatives("f(a | b, '|')") == Parts{"f(a | b, '|')"});
  CHECK(alternatives(" a|b ") == Parts{"a", "b"});
}

TEST_CASE("an interval of ratios holds the middle one", "[timing]") {
  const std::vector<double> a{2, 4, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 2}, b(15, 1.0);
  const Ratio ratio = ratio_of(a, b);
  CHECK(ratio.median == 2);
  CHECK(ratio.low == 2);
  CHECK(ratio.high == 2);
  const Spread spread = spread_of({3, 1, 2});
  CHECK(spread.median == 2);
  CHECK(spread.least == 1);
  CHECK(spread.most == 3);
}

TEST_CASE("capture and kernels are told apart from running", "[timing]") {
  Talk talk;
  talk("x = ones(10)");
  talk("f = jit(x => (x.exp() + 1).log())");
  const std::string first = talk(":time f(x)");
  CHECK(first.find(", capture ") != std::string::npos);
  CHECK(first.find("kernels ") != std::string::npos);
  talk("f(x)");
  const std::string again = talk(":time f(x)");
  CHECK(again.find(", capture ") == std::string::npos);
  CHECK(again.find(", run 0.00 ns") == std::string::npos);
}

TEST_CASE("a profile is by op, by line, and a trace", "[timing]") {
  Talk talk;
  talk("fn f(x) {\n  y = x.exp()\n  return y.sum()\n}");
  const std::string path = (std::filesystem::temp_directory_path() / "kiln-profile.json").string();
  const std::string said = talk(":profile f(ones(1000)) " + path);
  CHECK(said.find("op") != std::string::npos);
  CHECK(said.find("   2 |   y = x.exp()\n") != std::string::npos);
  CHECK(said.find("   3 |   return y.sum()\n") != std::string::npos);
  CHECK(said.find("wrote " + path) != std::string::npos);
  std::ifstream file(path);
  const auto trace = nlohmann::json::parse(file);
  bool has_exp = false;
  for (const auto& each : trace["traceEvents"]) {
    if (each["ph"] != "X" || each["name"] != "exp") continue;
    has_exp = true;
    CHECK(each["cat"] == "op");
    CHECK(each["dur"].get<double>() > 0);
    CHECK(each["args"]["line"].get<std::string>().ends_with(":2"));
  }
  CHECK(has_exp);
  std::filesystem::remove(path);
  CHECK(talk(":profile").find("usage: `:profile e [file.json]`") != std::string::npos);
  CHECK(talk(":profile nobody").starts_with("NameError"));
}

TEST_CASE("kernels of both graphs are shown where an argument requires a gradient", "[timing]") {
  Talk talk;
  talk("x = ones(100).requires_grad_()");
  talk("y = ones(100)");
  const std::string both = talk(":kernels (x => x.exp().sin())(x)");
  CHECK(both.find("forward\n") != std::string::npos);
  CHECK(both.find("backward\n") != std::string::npos);
  CHECK(talk(":kernels (x => x.exp().sin())(y)").find("forward") == std::string::npos);
  const std::string stages = talk(":stages (x => x.exp().sin())(x)");
  CHECK(stages.find("fused forward") != std::string::npos);
  CHECK(stages.find("fused backward") != std::string::npos);
  CHECK(std::count(stages.begin(), stages.end(), '\n') < 24);
}

}  // namespace kiln::timing_test
