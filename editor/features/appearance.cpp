// How the text looks: the meaning of its tokens for colours, and what can be folded.
#include <algorithm>
#include <array>
#include <vector>

#include "editor/features.h"
#include "editor/token_meaning.h"

namespace kiln::editor {
namespace {

// ---- Colours ----

Json token_options() {
  Json types = Json::array();
  for (const std::string_view each : token_types()) types.push_back(each);
  return {
      {"legend", {{"tokenTypes", std::move(types)}, {"tokenModifiers", {"declaration", "defaultLibrary"}}}},
      {"full", true},
      {"range", true}};
}

// Five numbers a token, places relative to the one before. A token of several lines is one for each.
class TokenWriter {
 public:
  TokenWriter(const Text& text, Encoding encoding) : text_(text), encoding_(encoding) {}

  void add(const MeantToken& token) {
    for (std::size_t begin = token.begin; begin < token.end;) {
      const Position at = text_.position(begin, encoding_);
      const std::size_t next =
          at.line + 1 < text_.lines() ? text_.line_start(at.line + 1) : text_.str().size();
      std::size_t end = std::min<std::size_t>(token.end, next);
      const std::size_t behind = end;
      while (end > begin && (text_.str()[end - 1] == '\n' || text_.str()[end - 1] == '\r')) --end;
      if (end > begin) piece(at, text_.position(end, encoding_), token);
      begin = behind;
    }
  }
  Json take() { return {{"data", std::move(data_)}}; }

 private:
  void piece(Position begin, Position end, const MeantToken& token) {
    const bool is_same_line = begin.line == last_.line;
    for (const std::uint32_t number :
         {begin.line - last_.line, begin.character - (is_same_line ? last_.character : 0),
          end.character - begin.character, static_cast<std::uint32_t>(token.type), token.modifiers})
      data_.push_back(number);
    last_ = begin;
  }

  const Text& text_;
  Encoding encoding_;
  Position last_;
  Json data_ = Json::array();
};

Json tokens_json(Server& server, Document& document, std::size_t begin, std::size_t end) {
  TokenWriter writer(document.text(), server.client().encoding);
  for (const MeantToken& each :
       meant_tokens(document.analysis(), server.workspace().session().interpreter())) {
    if (each.end > begin && each.begin < end) writer.add(each);
  }
  return writer.take();
}

void semantic_tokens(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  reply(tokens_json(server, document, 0, document.text().str().size()));
}

void semantic_tokens_of_range(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  const Encoding encoding = server.client().encoding;
  const Json& range = params.at("range");
  reply(tokens_json(server, document, document.text().offset(position_from(range.at("start")), encoding),
                    document.text().offset(position_from(range.at("end")), encoding)));
}

// ---- Folds ----

void add_fold(Json& folds, std::uint32_t first, std::uint32_t last, const char* kind) {
  if (last <= first) return;
  Json fold = {{"startLine", first}, {"endLine", last}};
  if (kind != nullptr) fold["kind"] = kind;
  folds.push_back(std::move(fold));
}

// What brackets hold, also where the text cannot be read. The line of the closing one stays.
void fold_brackets(Json& folds, const Text& text) {
  std::vector<std::uint32_t> open;
  for (const lang::ClassifiedToken& token : lang::classify(text.str())) {
    if (token.kind != lang::TokenClass::Bracket) continue;
    const std::uint32_t line = text.position(token.begin, Encoding::Utf8).line;
    const bool opens = std::string_view("([{").find(text.str()[token.begin]) != std::string_view::npos;
    if (opens) {
      open.push_back(line);
    } else if (!open.empty()) {
      if (line > 0) add_fold(folds, open.back(), line - 1, nullptr);
      open.pop_back();
    }
  }
}

// Lines one after the other that begin in the same way.
void fold_lines(Json& folds, const Text& text, const char* kind, bool (*belongs)(std::string_view)) {
  std::uint32_t first = 0;
  const auto lines = static_cast<std::uint32_t>(text.lines());
  for (std::uint32_t line = 0; line <= lines; ++line) {
    if (line < lines && belongs(text.line(line))) continue;
    if (line > first) add_fold(folds, first, line - 1, kind);
    first = line + 1;
  }
}

void folds(Server& server, const Json& params, const Reply& reply) {
  const Text& text = server.document_of(params).text();
  Json folds = Json::array();
  fold_brackets(folds, text);
  fold_lines(folds, text, "comment", [](std::string_view line) {
    const std::size_t begin = line.find_first_not_of(" \t");
    return begin != std::string_view::npos && line[begin] == '#';
  });
  fold_lines(folds, text, "imports",
             [](std::string_view line) { return line.starts_with("import ") || line.starts_with("from "); });
  reply(std::move(folds));
}

constexpr std::array<Feature, 3> kAppearanceFeatures{
    {{"textDocument/semanticTokens/full", "semanticTokensProvider", token_options, semantic_tokens},
     {"textDocument/semanticTokens/range", "", nullptr, semantic_tokens_of_range},
     {"textDocument/foldingRange", "foldingRangeProvider", nullptr, folds}}};

}  // namespace

std::span<const Feature> appearance_features() { return kAppearanceFeatures; }

}  // namespace kiln::editor
