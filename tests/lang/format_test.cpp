// The one format: exact layouts, and that formatting changes neither the tree nor itself.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "expectations.h"
#include "support.h"

namespace kiln::format_test {

using namespace kiln::lang;

namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Every comment of a text, in order.
std::string comments(std::string_view text) {
  std::string out;
  for (const ClassifiedToken& token : classify(text)) {
    if (token.kind != TokenClass::Comment) continue;
    std::string comment(text.substr(token.begin, token.end - token.begin));
    while (!comment.empty() && (comment.back() == ' ' || comment.back() == '\r' || comment.back() == '\t'))
      comment.pop_back();
    out += comment + "\n";
  }
  return out;
}

void check_format(const std::string& source) {
  const std::string once = formatted(source);
  INFO(source);
  INFO(once);
  CHECK(tree(once) == tree(source));
  CHECK(formatted(once) == once);
  CHECK(comments(once) == comments(source));
}

}  // namespace

TEST_CASE("layouts read as the table says") {
  const auto cases = read_expectations(KILN_TEST_DIR "/lang/formats.txt", formatted);
  CHECK(cases.size() > 40);
  for (const Expectation& each : cases) {
    INFO(each.source);
    CHECK(formatted(each.source) == each.expected);
    check_format(each.source);
  }
}

TEST_CASE("every Kiln file of the project keeps its tree and is stable") {
  int files = 0;
  for (const char* folder : {"stdlib", "examples", "bench", "tests"}) {
    const std::filesystem::path root = std::filesystem::path(KILN_TEST_DIR) / ".." / folder;
    if (!std::filesystem::exists(root)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".kiln") continue;
      const std::string source = read_file(entry.path());
      if (!message(source).empty()) continue;  // tests of errors
      INFO(entry.path());
      check_format(source);
      ++files;
    }
  }
  CHECK(files >= 5);
}

TEST_CASE("a text that does not parse is not formatted") { CHECK_THROWS_AS(formatted("x ="), UserError); }

TEST_CASE("odd bytes around a program") {
  CHECK(formatted("\xEF\xBB\xBFx=1") == "x = 1\n");
  CHECK(formatted("x=1\r\ny=2  # c \r\n") == "x = 1\ny = 2  # c\n");
  CHECK(formatted("") == "");
  CHECK(formatted("\n\n") == "");
  CHECK(formatted("\n\n# c") == "# c\n");
  CHECK(formatted("\f\tx") == "x\n");
}

}  // namespace kiln::format_test
