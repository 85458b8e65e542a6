#include "editor/program.h"

#include <algorithm>
#include <optional>

#include "editor/mistake.h"
#include "editor/page_text.h"
#include "editor/type_text.h"
#include "interpreter/check/program.h"
#include "interpreter/values/unknown.h"
#include "lang/walk.h"
#include "repl/completion.h"
#include "repl/completion/parameters.h"
#include "repl/completion/sources.h"
#include "repl/definition.h"
#include "repl/documentation.h"

namespace kiln::editor {
namespace {

using interp::Tag;
using interp::Value;

// Who comes to an expression more often has seen what there is to see.
constexpr int kMostVisits = 64;

// Of these the page tells more than a type does.
bool has_page(const Value& value) {
  return value.is(Tag::Function) || value.is(Tag::Native) || value.is(Tag::Method) || value.is(Tag::Module) ||
         value.is(Tag::StructType) || value.is(Tag::Type);
}

// Where a value of the program or of the library is defined.
std::optional<lang::Span> span_of(const Value& value) {
  if (const lang::FunctionExpr* syntax = repl::syntax_of(value)) return syntax->span;
  if (value.is(Tag::Method)) return span_of(value.as<interp::Method>().function);
  if (value.is(Tag::StructType) && value.as<interp::StructType>().span)
    return value.as<interp::StructType>().span;
  if (value.is(Tag::Instance)) return span_of(value.as<interp::Instance>().type);
  if (value.is(Tag::Module) && !value.as<interp::Module>().sources.empty())
    return lang::Span{&value.as<interp::Module>().sources.back()->file(), 0, 0};
  return std::nullopt;
}

}  // namespace

class Program::LocalsInSession {
 public:
  LocalsInSession(interp::Module& module, const std::vector<std::pair<std::string, Value>>& locals)
      : module_(module) {
    for (const auto& [name, value] : locals) {
      const Value* const before = module.find(name);
      before_.emplace_back(name, before == nullptr ? Value::unset() : *before);
      module.set(name, value);
    }
  }
  ~LocalsInSession() {
    for (auto each = before_.rbegin(); each != before_.rend(); ++each) module_.set(each->first, each->second);
  }
  LocalsInSession(const LocalsInSession&) = delete;
  LocalsInSession& operator=(const LocalsInSession&) = delete;

 private:
  interp::Module& module_;
  std::vector<std::pair<std::string, Value>> before_;
};

Json Program::check(const std::string& name, const std::string& text, const std::string& path) {
  checked_ = std::make_unique<Analysis>(name, text);
  const auto found = interp::check::check_within(
      session_.interpreter(), name, text, path,
      [&](lang::Span place, const Value& value) { see(name, place, value); },
      [&](const interp::check::SupposedCall* call) { call_ = call; });
  Json mistakes = Json::array();
  for (const lang::Diagnostic& each : found) {
    if (const auto mistake = mistake_of(each, name)) mistakes.push_back(to_json(*mistake));
  }
  return {{"mistakes", std::move(mistakes)}, {"types", to_json(types())}};
}

void Program::see(const std::string& name, lang::Span place, const Value& value) {
  if (place.file->name() != name) return;
  const lang::FunctionExpr* const supposed = call_ == nullptr ? nullptr : call_->function;
  if (supposed != nullptr && (place.begin < supposed->span.begin || place.end > supposed->span.end)) return;
  Sighting& sighting = (supposed == nullptr ? seen_ : supposed_)[{place.begin, place.end}];
  if (++sighting.visits > kMostVisits) return;
  try {
    std::string type = supposed == nullptr ? type_text(value) : type_text(value, *call_);
    sighting.type = sighting.visits == 1 ? std::move(type) : joined_types(sighting.type, type);
    sighting.value = value;
  } catch (const interp::Unknowable&) {
    // A part of it is unknown, and its type would tell that.
  }
}

// A variable that is assigned has the type of what it gets, whether or not it is read later.
class Program::Targets final : public lang::Walker {
 public:
  explicit Targets(std::map<std::pair<std::uint32_t, std::uint32_t>, Sighting>& seen) : seen_(seen) {}
  using Walker::visit;
  void visit(lang::Stmt& s) override {
    if (s.kind == lang::StmtKind::Assign) {
      const auto& made = lang::as<lang::AssignStmt>(s);
      const auto found = seen_.find({made.value->span.begin, made.value->span.end});
      for (const lang::Expr* target : made.targets) {
        if (found != seen_.end() && target->kind == lang::ExprKind::Name)
          seen_.try_emplace({target->span.begin, target->span.end}, found->second);
      }
    }
    children(s);
  }
  void walk(lang::Block& top) { block(&top); }

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sighting>& seen_;
};

std::vector<TypedPlace> Program::types() {
  auto all = supposed_;
  all.insert(seen_.begin(), seen_.end());
  Targets(all).walk(*checked_->main().body);
  std::vector<TypedPlace> places;
  for (const auto& [place, sighting] : all) {
    if (!sighting.type.empty() && !has_page(sighting.value))
      places.push_back({place.first, place.second, sighting.type});
  }
  return places;
}

// What was seen of the variables of the functions around a place, in the text that was checked: the place is
// looked for where both texts are the same.
std::vector<std::pair<std::string, Value>> Program::locals_at(std::string_view text, std::size_t at) const {
  std::vector<std::pair<std::string, Value>> locals;
  if (checked_ == nullptr) return locals;
  const std::string_view old = checked_->file().text();
  const auto [end, unused] = std::mismatch(old.begin(), old.end(), text.begin(), text.end());
  const std::size_t place = std::min(at, static_cast<std::size_t>(end - old.begin()));
  const auto surrounds = [&](const Symbol& symbol) {
    return symbol.owner != nullptr && symbol.owner->span.begin <= place && place <= symbol.owner->span.end;
  };
  for (const Symbol& symbol : checked_->symbols().all()) {
    if (!surrounds(symbol)) continue;
    const Sighting* last = nullptr;
    for (const Occurrence& each : symbol.occurrences) {
      const auto found = seen_.find({each.begin, each.end});
      if (found != seen_.end() && (last == nullptr || each.begin < place)) last = &found->second;
    }
    if (last != nullptr) locals.emplace_back(symbol.name, last->value);
  }
  return locals;
}

Json Program::complete(const std::string& text, std::size_t at) {
  const LocalsInSession locals(session_.interpreter().main(), locals_at(text, at));
  const repl::Candidates found = repl::candidates(session_, text, at);
  Json items = Json::array();
  for (const repl::Candidate& each : found.all) {
    const Value* const value = each.kind == "name" ? session_.interpreter().main().find(each.text) : nullptr;
    const repl::Candidate told = value == nullptr ? each : repl::described(each.text, *value);
    items.push_back({told.text, told.kind, told.detail});
  }
  return {{"begin", found.begin}, {"items", std::move(items)}};
}

Json Program::signature(const std::string& text, std::size_t at) {
  const LocalsInSession locals(session_.interpreter().main(), locals_at(text, at));
  const auto hint = repl::call_hint(session_, text, at);
  if (!hint) return {};
  std::string label = hint->callee + "(";
  Json parameters = Json::array();
  for (const repl::CallParameter& each : hint->parameters) {
    if (!parameters.empty()) label += ", ";
    parameters.push_back({label.size(), label.size() + each.detail.size()});
    label += each.detail;
  }
  Json answer = {{"label", label + ")"}, {"parameters", std::move(parameters)}};
  if (hint->active) answer["active"] = *hint->active;
  return answer;
}

Json Program::page(const Json& names) {
  for (const std::string name : names) {
    const auto page = repl::find_page(session_, name);
    if (page && !page->signatures.empty()) return {{"kind", page->kind}, {"text", markdown(*page)}};
  }
  return {};
}

Json Program::definition(const Json& names) {
  for (const std::string name : names) {
    const auto value = repl::find_documented(session_, name);
    const auto span = value ? span_of(*value) : std::nullopt;
    if (!span) continue;
    const lang::LineColumn at = span->file->locate(span->begin);
    Json answer = {{"file", span->file->name()}, {"line", at.line - 1}, {"column", at.column - 1}};
    if (span->file->is_library()) answer["library"] = span->file->text();
    return answer;
  }
  return {};
}

Json Program::answer(const Json& question) {
  try {
    const std::string ask = question.at("ask");
    if (ask == "complete") return complete(question.at("text"), question.at("at"));
    if (ask == "signature") return signature(question.at("text"), question.at("at"));
    if (ask == "page") return page(question.at("names"));
    if (ask == "definition") return definition(question.at("names"));
  } catch (const lang::UserError&) {
    // A module that cannot be read, a name that means nothing.
  } catch (const interp::Unknowable&) {
    // It depends on what only a run could tell.
  }
  return {};
}

void Program::serve(Channel& channel) {
  for (Json question; channel.read(question);)
    channel.write({{"id", question.at("id")}, {"answer", answer(question)}});
}

}  // namespace kiln::editor
