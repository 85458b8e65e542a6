// Codes of errors: each example gives its code, and no error that is tested goes without one of its own.
#include "lang/error_codes.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "repl/lines.h"
#include "tensor/error.h"
#include "tests/repl/talk.h"

namespace kiln::error_codes_test {

using namespace kiln::repl;
using kiln::lang::error_code;
using kiln::lang::error_codes;
using kiln::lang::ErrorCode;

namespace {

// What a program writes to stderr, entered line by line: a JSON object for each error.
std::string errors_of(std::string_view program) {
  Session::Options options;
  options.json = true;
  Session session{options};
  std::string errors;
  for (const std::string_view line : lines_of(program)) errors += session.eval(line).diagnostics;
  return errors;
}

// "ShapeError: cannot multiply …" as kind and sentence.
std::pair<std::string, std::string> first_error(const std::filesystem::path& expected) {
  std::ifstream file(expected);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    const std::string kind = line.substr(0, colon == std::string::npos ? 0 : colon);
    const bool is_kind = std::any_of(error_codes().begin(), error_codes().end(),
                                     [&](const ErrorCode& each) { return each.kind == kind; });
    if (is_kind) return {kind, line.substr(colon + 2)};
  }
  return {};
}

}  // namespace

TEST_CASE("the wrong example of a code gives it, the right one no error", "[codes]") {
  for (const ErrorCode& each : error_codes()) {
    INFO(each.code << "\n" << each.wrong);
    if (each.kind == "InternalError") continue;
    const std::string errors = errors_of(each.wrong);
    CHECK(errors.find("\"code\":\"" + std::string(each.code) + "\"") != std::string::npos);
    CHECK(std::count(errors.begin(), errors.end(), '\n') == 1);
    CHECK(errors_of(each.right).empty());
  }
}

TEST_CASE("codes are in order and are not given twice", "[codes]") {
  CHECK(std::is_sorted(error_codes().begin(), error_codes().end(),
                       [](const ErrorCode& a, const ErrorCode& b) { return a.code < b.code; }));
  std::set<std::string_view> seen;
  for (const ErrorCode& each : error_codes()) {
    CHECK(seen.insert(each.code).second);
    CHECK(each.code.size() == 5);
    CHECK_FALSE(each.explanation.empty());
  }
}

TEST_CASE("each kind of error has a code for the rest of it", "[codes]") {
  std::set<std::string_view> kinds, general;
  for (const ErrorCode& each : error_codes()) {
    kinds.insert(each.kind);
    if (each.patterns.empty()) general.insert(each.kind);
  }
  CHECK(kinds == general);
  for (int kind = 0; kind <= static_cast<int>(kiln::ErrorKind::Internal); ++kind)
    CHECK(kinds.count(kiln::name(static_cast<kiln::ErrorKind>(kind))) == 1);
}

TEST_CASE("no error of the tests of errors is only of a kind", "[codes]") {
  int errors = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(KILN_TEST_DIR) / "errors")) {
    if (entry.path().extension() != ".expected") continue;
    const auto [kind, message] = first_error(entry.path());
    INFO(entry.path() << " " << kind << ": " << message);
    REQUIRE_FALSE(kind.empty());
    ++errors;
    const auto of_kind = [&kind = kind](const ErrorCode& each) { return each.kind == kind; };
    const bool has_others = std::count_if(error_codes().begin(), error_codes().end(), of_kind) > 1;
    CHECK((!error_code(kind, message).patterns.empty() || !has_others));
  }
  CHECK(errors > 100);
}

TEST_CASE(":explain tells of a code, a kind, and the last error", "[codes]") {
  Talk talk;
  CHECK(talk(":explain").find("K1300") != std::string::npos);
  talk("ones(2) @ ones(3)");
  CHECK(talk(":explain").find("K0501") != std::string::npos);
  CHECK(talk(":explain k0501") == talk("?K0501"));
  CHECK(talk(":explain ShapeError").find("K0502") != std::string::npos);
  CHECK(talk(":explain ShapeError").find("K0400") == std::string::npos);
  CHECK(talk(":explain K9999").find("there is no code") != std::string::npos);
  CHECK(talk("explain(\"K0501\") == doc(\"K0501\")") == "true\n");
  CHECK(talk("try { ones(2) @ ones(3) } catch err { print(err.code) }") == "K0501\n");
  CHECK(talk("try { throw \"K0501\" } catch err { print(err.code) }") == "K1200\n");
}

TEST_CASE("codes stand behind the message where people look", "[codes]") {
  Session::Options options;
  options.interactive = true;
  Session session{options};
  CHECK(session.eval("zeors(2)").diagnostics.starts_with("NameError: `zeors` is not defined [K0201]\n"));
  Talk talk;
  CHECK(talk("zeors(2)").starts_with("NameError: `zeors` is not defined\n"));
}

}  // namespace kiln::error_codes_test
