// Real programs in the server: those that run have no mistakes and a hover everywhere, broken ones do no
// harm, seeded mistakes are found, and a document that is edited is the one that was typed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "editor/analysis.h"
#include "editor/document.h"
#include "editor/uri.h"
#include "lang/syntax.h"
#include "tests/editor/client.h"
#include "tests/effort.h"

namespace kiln::editor::testing::programs_test {
namespace {

namespace fs = std::filesystem;
const fs::path kRoot = fs::path(KILN_TEST_DIR).parent_path();

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// One in `every` of a folder, by name.
std::vector<fs::path> programs_in(const fs::path& folder, std::size_t every) {
  std::vector<fs::path> all, some;
  for (const auto& each : fs::directory_iterator(folder)) {
    if (each.path().extension() == ".kiln") all.push_back(each.path());
  }
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); i += every) some.push_back(all[i]);
  return some;
}

constexpr std::size_t kEvery = 5UL * kiln::testing::kEvery;

TEST_CASE("programs that run have no mistakes in an editor", "[editor][programs]") {
  Client client;
  for (const char* folder : {"examples", "stdlib"}) {
    for (const fs::path& path : programs_in(kRoot / folder, kEvery)) {
      INFO(path);
      const std::string uri = uri_of_path(path.string());
      client.open(uri, text_of(path));
      CHECK(client.diagnostics(uri, 1) == Json::array());
    }
  }
}

TEST_CASE("every identifier has a hover", "[editor][programs]") {
  Client client;
  for (const char* name : {"stdlib/optim.kiln", "examples/k_means.kiln"}) {
    const fs::path path = kRoot / name;
    const std::string uri = uri_of_path(path.string());
    const std::string text = text_of(path);
    client.open(uri, text);
    client.diagnostics(uri, 1);
    const Text lines(text);
    std::size_t asked = 0;
    for (const lang::ClassifiedToken& token : lang::classify(text)) {
      if (token.kind != lang::TokenClass::Name || ++asked % kiln::testing::kEvery != 0) continue;
      const Position place = lines.position(token.begin, Encoding::Utf16);
      const Json hover = client.result("textDocument/hover", at(uri, place.line, place.character));
      INFO(path << ":" << place.line + 1 << " " << text.substr(token.begin, token.end - token.begin));
      CHECK_FALSE(hover.is_null());
    }
    CHECK(asked > 20);
  }
}

TEST_CASE("a token that is deleted leaves the server alive, and completion at its place",
          "[editor][programs]") {
  Client client;
  int version = 1;
  for (const fs::path& path : programs_in(kRoot / "examples", kiln::testing::kEvery)) {
    const std::string uri = uri_of_path(path.string());
    const std::string text = text_of(path);
    client.open(uri, text);
    std::vector<lang::Token> tokens = lang::lex(text);
    std::erase_if(tokens, [](const lang::Token& each) { return each.kind == lang::Tok::Space; });
    for (std::size_t i = 1; i < tokens.size(); i += tokens.size() / 4 + 1) {
      std::string without = text;
      without.erase(tokens[i].begin, tokens[i].end - tokens[i].begin);
      client.change(uri, ++version, {{{"text", without}}});
      const Position place = Text(without).position(tokens[i].begin, Encoding::Utf16);
      CHECK(client.result("textDocument/completion", at(uri, place.line, place.character)).contains("items"));
    }
    client.notify("textDocument/didClose", {{"textDocument", {{"uri", uri}}}});
  }
  CHECK(client.leave() == 0);
}

// Lines with `#! Kind` behind them.
std::size_t seeds_in(const std::string& text) {
  std::size_t seeds = 0;
  for (std::size_t at = text.find("  #! "); at != std::string::npos; at = text.find("  #! ", at + 1)) ++seeds;
  return seeds;
}

TEST_CASE("every seeded mistake is shown", "[editor][programs]") {
  Client client;
  for (const fs::path& path : programs_in(kRoot / "tests" / "check", 1)) {
    INFO(path);
    const std::string uri = uri_of_path(path.string());
    client.open(uri, text_of(path));
    CHECK(client.diagnostics(uri, 1).size() == seeds_in(text_of(path)));
  }
}

TEST_CASE("a document that is edited answers as one that is opened", "[editor][programs]") {
  Client client;
  std::mt19937 random(11);
  const std::vector<std::string> pieces = {
      "x = ones(2)\n", "fn f(a) { return a }\n", "}\n", "\"text\"", "\r\n",
      "é = 1\n",       "\xF0\x9F\x98\x80",       " "};
  const std::string edited = uri_of("edited.kiln"), fresh = uri_of("fresh.kiln");
  Text text("y = 1\n");
  client.open(edited, text.str());
  const Json of_edited = {{"textDocument", {{"uri", edited}}}},
             of_fresh = {{"textDocument", {{"uri", fresh}}}};
  for (int step = 2; step < 200; ++step) {
    const std::size_t lines = text.lines();
    const Position a{static_cast<std::uint32_t>(random() % lines), static_cast<std::uint32_t>(random() % 20)};
    const Position b{a.line + static_cast<std::uint32_t>(random() % 2),
                     static_cast<std::uint32_t>(random() % 20)};
    const std::string& piece = pieces[random() % pieces.size()];
    const Json range = {{"start", {{"line", a.line}, {"character", a.character}}},
                        {"end", {{"line", b.line}, {"character", b.character}}}};
    client.change(edited, step, {{{"range", range}, {"text", piece}}});
    const std::size_t begin = text.offset(a, Encoding::Utf16), end = text.offset(b, Encoding::Utf16);
    text.replace(std::min(begin, end), std::max(begin, end), piece);
    if (step % 10 != 0) continue;
    client.open(fresh, text.str());
    for (const char* method : {"textDocument/semanticTokens/full", "textDocument/foldingRange"})
      REQUIRE(client.result(method, of_edited) == client.result(method, of_fresh));
  }
}

TEST_CASE("texts that are no programs do no harm", "[editor][programs]") {
  Client client;
  const std::string binary("\x00\x01\x7F\xEF\xBB\xBF\r\r\n{[(\"", 13);
  const std::string deep(5000, '(');
  const std::string uri = uri_of("junk.kiln");
  int version = 1;
  client.open(uri, "");
  for (const std::string& text :
       {binary, deep, std::string("\"unterminated"), std::string("x = 1\r\ny = 2\r\n"),
        std::string("\xEF\xBB\xBFx = 1\n"), std::string(200'000, 'x')}) {
    client.change(uri, ++version, {{{"text", text}}});
    for (const char* method : {"textDocument/semanticTokens/full", "textDocument/foldingRange",
                               "textDocument/documentSymbol", "textDocument/codeLens"})
      CHECK(client.ask(method, {{"textDocument", {{"uri", uri}}}}).contains("result"));
    for (const char* method : {"textDocument/hover", "textDocument/completion", "textDocument/signatureHelp",
                               "textDocument/definition"})
      CHECK(client.ask(method, at(uri, 0, 3)).contains("result"));
  }
  CHECK(client.leave() == 0);
}

}  // namespace
}  // namespace kiln::editor::testing::programs_test
