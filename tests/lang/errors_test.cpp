// Every syntax error with its exact text.
#include <catch2/catch.hpp>

#include "expectations.h"
#include "support.h"

namespace kiln::errors_test {

using namespace kiln::lang;

TEST_CASE("syntax errors read as the table says") {
  const auto cases = read_expectations(KILN_TEST_DIR "/lang/syntax_errors.txt", complaint);
  CHECK(cases.size() > 150);
  for (const Expectation& each : cases) {
    INFO(each.source);
    CHECK(complaint(each.source) == each.expected);
  }
}

TEST_CASE("no message uses the parser generator's words") {
  for (const Expectation& each : read_expectations(KILN_TEST_DIR "/lang/syntax_errors.txt", complaint)) {
    for (const char* word :
         {"mismatched", "viable", "extraneous", "missing '", "token recognition", "<EOF>", "antlr"}) {
      INFO(each.source);
      CHECK(each.expected.find(word) == std::string::npos);
    }
    CHECK(each.expected.starts_with("SyntaxError: "));
  }
}

}  // namespace kiln::errors_test
