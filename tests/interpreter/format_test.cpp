// Format specifications and number texts against what Python gives (tests/interpreter/data).
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "interpreter/text/format.h"
#include "interpreter/values/natives.h"
#include "lang/diagnostic.h"

namespace kiln::interp::format_test {
namespace {

std::vector<std::vector<std::string>> rows(const std::string& name) {
  std::ifstream file(std::string(KILN_TEST_DIR) + "/interpreter/data/" + name);
  std::vector<std::vector<std::string>> all;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == '\t') {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    all.push_back(std::move(fields));
  }
  return all;
}

double parse_double(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string formatted(const std::string& kind, const std::string& value, const std::string& text) {
  const FormatSpec spec = FormatSpec::parse(text);
  if (kind == "f")
    return text.empty() ? repr_of(parse_double(value)) : format_float(parse_double(value), spec);
  if (kind == "i") return format_int(std::stoll(value), spec);
  return format_text(value, spec);
}

std::string kind_of_error(const std::string& spec, bool is_float) {
  try {
    if (is_float) {
      format_float(1.5, FormatSpec::parse(spec));
    } else {
      format_int(3, FormatSpec::parse(spec));
    }
  } catch (const lang::UserError& error) {
    return error.diagnostic().kind;
  }
  return "";
}

TEST_CASE("formats agree with Python's") {
  const auto cases = rows("format_cases.txt");
  REQUIRE(cases.size() > 4000);
  for (const auto& row : cases) {
    REQUIRE(row.size() == 4);
    INFO(row[0] << " " << row[1] << " under '" << row[2] << "'");
    CHECK(formatted(row[0], row[1], row[2]) == row[3]);
  }
}

TEST_CASE("the shortest text of floats agrees with Python's repr and reads back") {
  const auto cases = rows("repr_cases.txt");
  REQUIRE(cases.size() == 1500);
  for (const auto& row : cases) {
    std::array<unsigned char, 8> bytes{};
    for (std::size_t i = 0; i < 8; ++i)
      bytes[i] = static_cast<unsigned char>(std::stoi(row[0].substr(2 * i, 2), nullptr, 16));
    double value = 0;
    std::memcpy(&value, bytes.data(), 8);
    CHECK(repr_of(value) == row[1]);
    if (value == value) CHECK(parse_double(repr_of(value)) == value);
  }
}

TEST_CASE("f32 numbers have their own shortest text") {
  CHECK(repr_of(0.1F) == "0.1");
  CHECK(repr_of(16777216.0F) == "16777216.0");
  CHECK(repr_of(1e20F) == "1e+20");
  CHECK(repr_of(-std::numeric_limits<float>::infinity()) == "-inf");
}

TEST_CASE("strings are quoted as source reads them") {
  CHECK(repr_of(std::string_view("it's")) == "\"it's\"");
  CHECK(repr_of(std::string_view("a\"b'c")) == "'a\"b\\'c'");
  CHECK(repr_of(std::string_view("a\nb\t\\")) == "'a\\nb\\t\\\\'");
  CHECK(repr_of(std::string_view("\x1b[0m")) == "'\\u{1b}[0m'");
  CHECK(repr_of(std::string_view("é日")) == "'é日'");
  CHECK(repr_of(std::string_view("\xff")) == "'\\u{fffd}'");
}

TEST_CASE("bad specifications are ValueErrors") {
  for (const char* spec : {".", "10.", "dd", "999999999999", ".9999999", "10q", "<<<10"}) {
    INFO(spec);
    CHECK(kind_of_error(spec, true) == "ValueError");
  }
  for (const char* spec : {".2", ",x", "s", "é"}) {
    INFO(spec);
    CHECK(kind_of_error(spec, false) == "ValueError");
  }
  CHECK(kind_of_error("d", true) == "ValueError");
}

}  // namespace
}  // namespace kiln::interp::format_test
