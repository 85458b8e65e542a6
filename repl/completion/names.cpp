// Names that the session or the text at the cursor knows, and those that fit beside an operator.
#include <algorithm>

#include "interpreter/values/natives.h"
#include "repl/completion/sources.h"
#include "repl/definition.h"
#include "repl/documentation.h"
#include "repl/op_types.h"
#include "tensor/error.h"
#include "tensor/operators.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;
using lang::TokenClass;

// Names that the text gives a value or a meaning, as parameters and variables of the function being written.
void add_names_of_text(All& all, const CursorText& text) {
  for (const CursorToken& token : text.tokens()) {
    if (token.kind == TokenClass::Name) all.push_back({std::string(token.text), "name", "in this text"});
  }
}

bool begins_statement(const CursorToken& token) {
  return token.text.find('\n') != std::string_view::npos || token.text == ";" || token.text == "{";
}

// Where a statement ends that has a token at `at`.
std::size_t statement_end(const std::vector<CursorToken>& tokens, std::size_t at) {
  int depth = 0;
  for (; at < tokens.size(); ++at) {
    const std::string_view text = tokens[at].text;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if ((text == ")" || text == "]" || text == "}") && --depth < 0) break;
    if (depth == 0 && (text == ";" || text.find('\n') != std::string_view::npos)) break;
  }
  return at;
}

// The last expression that the text assigns to a name; "" when there is none.
std::string_view assigned(const CursorText& text, std::string_view name) {
  const auto& tokens = text.tokens();
  for (std::size_t i = tokens.size(); i-- > 0;) {
    const bool assigns = tokens[i].text == name && i + 2 < tokens.size() && tokens[i + 1].text == "=" &&
                         (i == 0 || begins_statement(tokens[i - 1]));
    if (!assigns) continue;
    const std::size_t end = statement_end(tokens, i + 2);
    if (end == i + 2 || end == tokens.size()) continue;  // it is being written
    return text.before().substr(tokens[i + 2].begin, tokens[end - 1].end - tokens[i + 2].begin);
  }
  return {};
}

// Does the text declare a parameter as a tensor, `x: f32[b, d]`?
std::optional<KnownType> declared(Session& session, const CursorText& text, std::string_view name) {
  const auto& tokens = text.tokens();
  for (std::size_t i = 1; i + 2 < tokens.size(); ++i) {
    const bool is_parameter = tokens[i].text == name && tokens[i + 1].text == ":" &&
                              (tokens[i - 1].text == "(" || tokens[i - 1].text == ",");
    if (!is_parameter) continue;
    const Value* type = session.interpreter().lookup(tokens[i + 2].text);
    if (type != nullptr && type->is(Tag::DType)) return KnownType::named("tensor");
    if (type != nullptr && type->is(Tag::StructType)) {
      KnownType known = KnownType::named(std::string(tokens[i + 2].text));
      known.struct_type = *type;
      return known;
    }
    return KnownType::named(std::string(tokens[i + 2].text));
  }
  return std::nullopt;
}

// Of an op that has several forms, "max(x)" and "max.dim(x, dim)" on a line each, the first, by the plain
// name.
std::string first_form(std::string_view signatures) {
  const std::string_view line = signatures.substr(0, signatures.find('\n'));
  const std::size_t open = std::min(line.find('('), line.size());
  return std::string(line.substr(0, std::min(line.find('.'), open))) + std::string(line.substr(open));
}

// May the value stand to the right of an operator with this on its left?
bool fits(std::string_view op, const KnownType& left, const Value& value) {
  const KnownArgument both[] = {{{}, left, {}}, {{}, KnownType::of(value), {}}};
  try {
    op_call_type(op, both);
    return true;
  } catch (const Unknown&) {  // what is no operand itself may give one
    const Tag tag = value.tag();
    return tag == Tag::Function || tag == Tag::Native || tag == Tag::StructType || tag == Tag::Type ||
           tag == Tag::Instance || tag == Tag::Module || tag == Tag::List || tag == Tag::Dict ||
           tag == Tag::Tuple;
  } catch (const OpError&) {
    return false;
  }
}

}  // namespace

Candidate described(std::string name, const Value& value) {
  switch (value.tag()) {
    case Tag::Native:
      return {std::move(name), "function", first_form(value.as<interp::Native>().signature)};
    case Tag::Function:
      return {std::move(name), "function", signature_of(value)};
    case Tag::StructType: {
      const auto& type = value.as<interp::StructType>();
      const Value* init = type.method("init");
      return {std::move(name), "struct",
              init != nullptr ? constructor_signature(type.name, *init) : type.name};
    }
    case Tag::Type:
      return {std::move(name), "type", ""};
    case Tag::Module:
      return {std::move(name), "module", ""};
    default:
      return {std::move(name), "variable", interp::describe(value)};
  }
}

All names(Session& session, const CursorText& text) {
  All all;
  add_names_of_text(all, text);
  for (std::string& name : session.interpreter().names()) {
    all.push_back({std::move(name), "name", ""});
  }
  for (const std::string_view keyword : lang::keywords())
    all.push_back({std::string(keyword), "keyword", ""});
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.text < b.text; });
  return all;
}

All operands(Session& session, const KnownType& left, std::string_view spelling) {
  const Op* op = operator_on_tensors(spelling, 2);
  All fitting, rest;
  for (const std::string& name : session.interpreter().names()) {
    const Value* own = session.interpreter().main().find(name);
    if (own == nullptr) {
      rest.push_back({name, "name", ""});
    } else if (fits(op->name(), left, *own)) {
      (own->is(Tag::Tensor) ? fitting : rest).push_back({name, "name", ""});
    }
  }
  // A tensor that fits is what is meant; else one may be made.
  fitting.insert(fitting.end(), rest.begin(), rest.end());
  return fitting;
}

std::optional<KnownType> type_at(Session& session, const CursorText& text, std::string_view operand) {
  if (const std::string_view value = assigned(text, operand); !value.empty())
    return known_type(session, value);
  if (auto type = declared(session, text, operand)) return type;
  return known_type(session, operand);
}

}  // namespace kiln::repl
