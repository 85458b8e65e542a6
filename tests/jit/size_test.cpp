// Sizes: one form for equal expressions, text that reads back, values that agree with the arithmetic.
#include <catch2/catch.hpp>
#include <random>

#include "jit/fit.h"
#include "jit/graph/size.h"
#include "tensor/error.h"

using namespace kiln::jit;

namespace {

const Size s0 = Size::symbol("s0"), b = Size::symbol("b"), t = Size::symbol("t");

struct SizeAndValue {
  Size size;
  std::int64_t value;
};

// A random expression with its value, computed beside it in plain integers.
SizeAndValue random_size(std::mt19937& engine, const SymbolValues& values, int depth) {
  const auto draw = [&engine](int count) {
    return static_cast<int>(engine() % static_cast<unsigned>(count));
  };
  if (depth == 0 || draw(5) == 0) {
    if (draw(2) == 0) {
      const int number = draw(9) - 2;
      return {number, number};
    }
    const auto at = std::next(values.begin(), draw(static_cast<int>(values.size())));
    return {Size::symbol(at->first), at->second};
  }
  const SizeAndValue x = random_size(engine, values, depth - 1), y = random_size(engine, values, depth - 1);
  switch (draw(7)) {
    case 0:
      return {x.size + y.size, x.value + y.value};
    case 1:
      return {x.size - y.size, x.value - y.value};
    case 2:
      return {x.size * y.size, x.value * y.value};
    case 3:
      return {min(x.size, y.size), std::min(x.value, y.value)};
    case 4:
      return {max(x.size, y.size), std::max(x.value, y.value)};
    default:
      break;
  }
  const int divisor = draw(6) + 1;
  if (draw(2) == 0) return {floor_div(x.size, divisor), floor_div(x.value, std::int64_t{divisor})};
  return {mod(x.size, divisor), floor_mod(x.value, divisor)};
}

}  // namespace

TEST_CASE("sizes have one form", "[jit][size]") {
  CHECK((s0 + s0).text() == "2*s0");
  CHECK((t * b).text() == "b*t");
  CHECK((s0 + 1 - s0).text() == "1");
  CHECK((Size(2) * s0 - 3).text() == "2*s0 - 3");
  CHECK(((s0 + 1) * (s0 - 1)).text() == "s0*s0 - 1");
  CHECK(floor_div(Size(4) * s0 + 7, 4).text() == "s0 + 1");
  CHECK(floor_div(s0 + 1, 2).text() == "((s0 + 1)//2)");
  CHECK(mod(Size(4) * s0 + 7, 4) == Size(3));
  CHECK(mod(s0 + 5, 2).text() == "((s0 + 1)%2)");
  CHECK(min(s0, s0 + 1) == s0);
  CHECK(max(s0, s0 + 1) == s0 + 1);
  CHECK(min(b, s0) == min(s0, b));
  CHECK(floor_div(s0 * b, s0 * b) == Size(1));
  CHECK_THROWS_AS(floor_div(s0, 0), kiln::OpError);
  CHECK_THROWS_AS(Size(INT64_MAX) + 1, kiln::OpError);
}

TEST_CASE("random sizes evaluate as integers do and read back", "[jit][size]") {
  std::mt19937 engine(3);
  const SymbolValues values{{"b", 7}, {"s0", 12}, {"t", 5}};
  for (int i = 0; i < 3000; ++i) {
    const SizeAndValue made = random_size(engine, values, 4);
    INFO(made.size.text());
    CHECK(made.size.evaluate(values) == made.value);
    const auto read = Size::parse(made.size.text());
    REQUIRE(read);
    CHECK(*read == made.size);
  }
}

TEST_CASE("what is no size is refused", "[jit][size]") {
  for (const char* text : {"", "s0 +", "(s0", "min(s0)", "3 4", "s0 ** 2", "[1]"}) {
    INFO(text);
    CHECK_FALSE(Size::parse(text));
  }
}

// Each step is small; all of them together would fill the stack or the memory.
TEST_CASE("sizes that nest too deep or have too many parts are refused", "[jit][size]") {
  const auto repeated = [](const std::string& first, const std::string& each, const std::string& last,
                           int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += first;
    text += each;
    for (int i = 0; i < count; ++i) text += last;
    return text;
  };
  for (const std::string& text : {repeated("(", "s0", ")", 100'000), repeated("(", "", "", 100'000),
                                  repeated("min(b, ", "s0", ")", 100'000), repeated("", "s0", "//b", 100'000),
                                  repeated("", "s0", "%b", 100'000), repeated("", "s0", "*s0", 100'000)}) {
    INFO(text.substr(0, 20));
    CHECK_THROWS_AS(Size::parse(text), kiln::OpError);
  }
  CHECK(*Size::parse(repeated("(", "s0 + 1", ")", 150)) == s0 + 1);
  CHECK(*Size::parse(repeated("", "s0", " + s0", 1'000)) == Size(1001) * s0);
  std::string sums = "s0 + t";
  Size tower = s0;
  for (int i = 0; i < 40; ++i)
    sums = sums + "0 + b" + std::to_string(i) + ")*(c" + std::to_string(i) + " + t";
  CHECK_THROWS_AS(Size::parse("(" + sums + ")"), kiln::OpError);
  CHECK_THROWS_AS(
      [&] {
        for (int i = 0; i < 100; ++i) tower = min(tower + b, floor_div(tower, b));
      }(),
      kiln::OpError);
}

TEST_CASE("names beyond ASCII are symbols", "[jit][size]") {
  const auto read = Size::parse("2*ñ + 名");
  REQUIRE(read);
  CHECK(read->text() == "2*ñ + 名");
}

TEST_CASE("the expression behind values is found", "[jit][size]") {
  for (const Size& wanted : {s0 + 3, s0 * b + 2, s0 * s0 - b, floor_div(s0 + 3, 2), floor_div(s0 * b, 4),
                             floor_div(Size(3) * s0 + 7, 5) + 1}) {
    std::vector<Observation> observations;
    std::mt19937 engine(5);
    for (int i = 0; i < 120; ++i) {
      SymbolValues values{{"b", 2 + engine() % 30}, {"s0", 2 + engine() % 30}};
      if (i % 2 == 0) values = {{"b", 80 * (1 + engine() % 20)}, {"s0", 80 * (1 + engine() % 20)}};
      observations.push_back({values, wanted.evaluate(values)});
    }
    INFO(wanted.text());
    const auto found = fit(observations, {});
    REQUIRE(found);
    CHECK(found->text() == wanted.text());
  }
}
