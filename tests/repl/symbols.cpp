// Pages of keywords and signs: the grammar has none without one, and their examples run.
#include "repl/symbols.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "lang/parse.h"
#include "repl/doctest.h"
#include "repl/lines.h"
#include "tests/repl/talk.h"

namespace kiln::symbols_test {

using namespace kiln::repl;

namespace {

// Every word and sign between quotes in the part of the grammar that lists its tokens.
std::set<std::string> tokens_of_grammar() {
  std::ifstream file(std::string(KILN_TEST_DIR) + "/../lang/Kiln.g4");
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = all.find("// ---- tokens"), end = all.find("NAME: LETTER");
  const std::string text = all.substr(begin, end - begin);
  std::set<std::string> tokens;
  const std::regex quoted("'([^']+)'");
  for (std::sregex_iterator each(text.begin(), text.end(), quoted), none; each != none; ++each)
    tokens.insert((*each)[1]);
  return tokens;
}

}  // namespace

TEST_CASE("every keyword and operator of the grammar has a page with an example", "[symbols]") {
  std::set<std::string> tokens = tokens_of_grammar();
  REQUIRE(tokens.size() > 60);
  for (const std::string_view keyword : kiln::lang::keywords()) tokens.emplace(keyword);
  Talk talk;
  for (const std::string& token : tokens) {
    INFO(token);
    const Symbol* symbol = find_symbol(token);
    REQUIRE(symbol != nullptr);
    CHECK_FALSE(find_examples(symbol->documentation).empty());
    CHECK(talk("?" + token).find(symbol->form) != std::string::npos);
  }
}

TEST_CASE("examples on the pages of keywords and signs run", "[symbols]") {
  for (const Symbol& symbol : symbols()) {
    Session session{{}};
    for (const Example& example : find_examples(symbol.documentation)) {
      const Result result = session.eval(example.entry);
      INFO(example.entry << "\n" << result.output << result.diagnostics);
      CHECK(result.status == Status::Done);
      CHECK(same_output(example.expected, result.output));
    }
  }
}

TEST_CASE("each sign is on one page", "[symbols]") {
  std::set<std::string_view> seen;
  for (const Symbol& symbol : symbols()) {
    for (const std::string_view name : lines_of(symbol.names)) CHECK(seen.insert(name).second);
  }
}

TEST_CASE("pages of keywords are found, and a variable of that name comes first", "[symbols]") {
  Talk talk;
  CHECK(talk("?@").find("of tensors it is `matmul`") != std::string::npos);
  CHECK(talk(":apropos generator").find("yield") != std::string::npos);
  CHECK(talk("?:").find("slice") != std::string::npos);
  CHECK(talk("match = 3\n").empty());
  CHECK(talk("?match").find("match: int") != std::string::npos);
}

}  // namespace kiln::symbols_test
