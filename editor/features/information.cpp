// What is told of a place: hover, the signature of the call around it, types of variables beside them.
#include <array>

#include "editor/features.h"
#include "editor/names_asked.h"
#include "editor/outline.h"
#include "editor/page_text.h"
#include "lang/walk.h"
#include "repl/definition.h"

namespace kiln::editor {
namespace {

Json hover_json(const Server& server, const Document& document, lang::Span place, const std::string& text) {
  return {{"contents", markup_json(text, server.client().reads_markdown_in_hover)},
          {"range", range_json(document.text(), place, server.client().encoding)}};
}

// ---- Hover ----

// The type at this occurrence, or where the variable is seen last before it, or anywhere.
std::string type_of(const Document& document, const Symbol& symbol, const Occurrence& here) {
  std::string type = document.types().type_of(here.begin, here.end);
  for (const Occurrence& each : symbol.occurrences) {
    if (!type.empty() && each.begin > here.begin) break;
    const std::string& found = document.types().type_of(each.begin, each.end);
    if (!found.empty() && (type.empty() || each.begin <= here.begin)) type = found;
  }
  return type;
}

// What the text alone says of a variable that it defines.
std::string text_of(const Document& document, const Symbol& symbol, const Occurrence& here) {
  if (symbol.function != nullptr) return markdown(repl::function_page(symbol.name, *symbol.function));
  std::string line = symbol.name;
  if (const std::string type = type_of(document, symbol, here); !type.empty()) line += ": " + type;
  return code_block(line) + "*" + kind_text(symbol) + "*\n";
}

const Occurrence& occurrence_at(const Symbol& symbol, std::size_t offset) {
  for (const Occurrence& each : symbol.occurrences) {
    if (each.begin <= offset && offset <= each.end) return each;
  }
  return symbol.occurrences.front();
}

// Asks for the page of the first name that has one; `otherwise` is told without one, "" of nothing.
void ask_page(Server& server, Document& document, Json names, lang::Span place, const std::string& otherwise,
              const Reply& reply) {
  Json hover = hover_json(server, document, place, otherwise);
  const bool has_other = !otherwise.empty();
  const bool reads_markdown = server.client().reads_markdown_in_hover;
  server.workspace().ask(&document, {{"ask", "page"}, {"names", std::move(names)}},
                         [reply, hover = std::move(hover), has_other, reads_markdown](const Json& page) {
                           if (page.is_null()) return reply(has_other ? hover : Json());
                           Json told = hover;
                           told["contents"] = markup_json(page.at("text"), reads_markdown);
                           reply(std::move(told));
                         });
}

void hover_symbol(Server& server, Document& document, const Symbol& symbol, std::size_t offset,
                  const Reply& reply) {
  const Occurrence& here = occurrence_at(symbol, offset);
  const lang::Span place{&document.analysis().file(), here.begin, here.end};
  std::string text = text_of(document, symbol, here);
  const bool is_value = symbol.kind == SymbolKind::Variable || symbol.kind == SymbolKind::Parameter ||
                        symbol.kind == SymbolKind::Size;
  const bool is_imported = symbol.definition != nullptr && symbol.definition->kind == lang::StmtKind::Import;
  if (symbol.is_defined() && (is_value || symbol.function != nullptr) && !is_imported)
    return reply(hover_json(server, document, place, text));
  if (!symbol.is_defined()) text = code_block(symbol.name);
  ask_page(server, document, {symbol.name}, place, text, reply);
}

// Of names that are declared but are no variables: methods, fields; "" elsewhere.
std::string declared_text(const std::vector<OutlineItem>& items, std::size_t offset) {
  for (const OutlineItem& each : items) {
    if (each.name_span.begin <= offset && offset <= each.name_span.end)
      return code_block(each.detail.empty() ? each.name : each.detail) +
             (each.kind == OutlineKind::Field ? "*field*\n" : "*method*\n");
    if (std::string found = declared_text(each.children, offset); !found.empty()) return found;
  }
  return "";
}

// The name of an argument, `dim=1`, whose function the text alone does not tell.
std::string argument_text(const Document& document, const lang::Span& token) {
  const std::string& text = document.text().str();
  const std::size_t next = text.find_first_not_of(" \t", token.end);
  const bool is_argument = next != std::string::npos && text[next] == '=';
  return code_block(token.text()) + (is_argument ? "*argument*\n" : "");
}

void hover(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  const std::size_t offset = server.offset_of(document, params);
  const Analysis& analysis = document.analysis();
  if (const lang::AttributeExpr* member = analysis.symbols().member_at(offset)) {
    const std::string& type = document.types().type_of(member->span.begin, member->span.end);
    std::string otherwise(member->span.text());
    if (!type.empty()) otherwise += ": " + type;
    return ask_page(server, document, names_of_member(document, *member), member->name_span,
                    code_block(otherwise) + "*field or method*\n", reply);
  }
  if (const Symbol* symbol = analysis.symbols().at(offset))
    return hover_symbol(server, document, *symbol, offset, reply);
  const lang::Span token = token_at(analysis, offset);
  if (token.text().empty()) return reply(Json());
  const std::string declared = declared_text(outline(analysis), offset);
  if (!declared.empty()) return reply(hover_json(server, document, token, declared));
  const bool is_name = lang::classify(token.text()).front().kind == lang::TokenClass::Name;
  ask_page(server, document, {token.text()}, token, is_name ? argument_text(document, token) : "", reply);
}

// ---- The call around a place ----

Json signature_options() { return {{"triggerCharacters", {"(", ","}}, {"retriggerCharacters", {")"}}}; }

// Labels are counted in the units of positions; those of signatures are plain, or are told as text.
Json signature_json(const Json& found) {
  if (found.is_null()) return {};
  const std::string label = found.at("label");
  Json parameters = Json::array();
  for (const Json& each : found.at("parameters")) {
    const std::size_t begin = each.at(0), end = each.at(1);
    parameters.push_back({{"label", label.substr(begin, end - begin)}});
  }
  Json signature = {{"label", label}, {"parameters", std::move(parameters)}};
  Json help = {{"signatures", {signature}}, {"activeSignature", 0}};
  // A place beyond the last is outside.
  help["activeParameter"] = found.value("active", found.at("parameters").size());
  return help;
}

void signature_help(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  server.workspace().ask(
      &document,
      {{"ask", "signature"}, {"text", document.text().str()}, {"at", server.offset_of(document, params)}},
      [reply](const Json& found) { reply(signature_json(found)); });
}

// ---- Types beside variables ----

// Variables that get a tensor by themselves, and parameters that are one but do not say it.
class Hints final : public lang::Walker {
 public:
  Hints(const Document& document, std::uint32_t begin, std::uint32_t end, Encoding encoding)
      : document_(document), begin_(begin), end_(end), encoding_(encoding) {}

  using Walker::visit;
  void visit(lang::Stmt& s) override {
    if (s.kind == lang::StmtKind::Assign) {
      for (const lang::Expr* target : lang::as<lang::AssignStmt>(s).targets) {
        if (target->kind == lang::ExprKind::Name) add(target->span, type_of(target->span));
      }
    }
    children(s);
  }
  void visit(lang::Expr& e) override {
    if (e.kind == lang::ExprKind::Function) {
      for (const lang::Parameter& each : lang::as<lang::FunctionExpr>(e).parameters) {
        if (each.annotation == nullptr) add(each.span, type_of(each.span));
      }
    }
    children(e);
  }
  void walk(lang::Block& top) { block(&top); }

  Json hints = Json::array();

 private:
  const std::string& type_of(const lang::Span& span) const {
    return document_.types().type_of(span.begin, span.end);
  }
  void add(const lang::Span& name, const std::string& type) {
    const bool is_tensor = type.find('[') != std::string::npos;
    if (!is_tensor || name.end < begin_ || name.begin > end_) return;
    constexpr int kType = 1;
    hints.push_back({{"position", position_json(document_.text(), name.end, encoding_)},
                     {"label", ": " + type},
                     {"kind", kType}});
  }

  const Document& document_;
  std::uint32_t begin_, end_;
  Encoding encoding_;
};

void inlay_hints(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  const Encoding encoding = server.client().encoding;
  const Json& range = params.at("range");
  const std::size_t begin = document.text().offset(position_from(range.at("start")), encoding);
  const std::size_t end = document.text().offset(position_from(range.at("end")), encoding);
  Hints hints(document, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), encoding);
  hints.walk(*document.analysis().main().body);
  reply(std::move(hints.hints));
}

constexpr std::array<Feature, 3> kInformationFeatures{
    {{"textDocument/hover", "hoverProvider", nullptr, hover},
     {"textDocument/signatureHelp", "signatureHelpProvider", signature_options, signature_help},
     {"textDocument/inlayHint", "inlayHintProvider", nullptr, inlay_hints}}};

}  // namespace

std::span<const Feature> information_features() { return kInformationFeatures; }

}  // namespace kiln::editor
