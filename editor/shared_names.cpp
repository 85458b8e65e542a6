#include "editor/shared_names.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "editor/uri.h"
#include "lang/names.h"
#include "lang/syntax.h"
#include "repl/options.h"
#include "repl/program_files.h"
#include "repl/session.h"
#include "stdlib/embedded.h"

namespace kiln::editor {
namespace {

namespace fs = std::filesystem;

std::string canonical(const std::string& path) {
  std::error_code failed;
  const fs::path made = fs::weakly_canonical(path, failed);
  return failed ? std::string() : made.string();
}

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().string(); }

const lang::ImportStmt* import_of(const Symbol& symbol) {
  if (symbol.definition == nullptr || symbol.definition->kind != lang::StmtKind::Import) return nullptr;
  return static_cast<const lang::ImportStmt*>(symbol.definition);
}

// `f` of `f as g`.
lang::Span own_name(const lang::ImportedName& imported) {
  for (const lang::Token& token : lang::lex(imported.span.text())) {
    if (token.kind == lang::Tok::Name)
      return {imported.span.file, imported.span.begin + token.begin, imported.span.begin + token.end};
  }
  return imported.span;
}

bool is_renamed(const lang::ImportedName& imported) { return imported.as != imported.name; }

// The module that a member belongs to, as the variable that an import made; null for members of other values.
const lang::ImportStmt* module_of(const Analysis& analysis, const lang::AttributeExpr& member) {
  if (member.object->kind != lang::ExprKind::Name) return nullptr;
  const Symbol* const symbol = analysis.symbols().at(member.object->span.begin);
  const lang::ImportStmt* const import = symbol == nullptr ? nullptr : import_of(*symbol);
  return import != nullptr && import->names.empty() ? import : nullptr;
}

const Symbol* variable_of_module(const Analysis& analysis, const std::string& name) {
  for (const Symbol& each : analysis.symbols().all())
    if (each.owner == nullptr && each.name == name && each.is_defined()) return &each;
  return nullptr;
}

// The function that a variable of a module stands for in all of its text; null where there is no such one.
const lang::FunctionExpr* only_function(const Symbol& symbol) {
  const auto definitions = std::ranges::count_if(symbol.occurrences, &Occurrence::is_definition);
  return symbol.owner == nullptr && definitions == 1 ? symbol.function : nullptr;
}

const Symbol* parameter_of(const Analysis& analysis, const lang::FunctionExpr& function,
                           const std::string& name) {
  for (const Symbol& each : analysis.symbols().all())
    if (each.owner == &function && each.kind == SymbolKind::Parameter && each.name == name) return &each;
  return nullptr;
}

// An argument that a call gives by name, and where the name of what is called begins.
struct NamedArgument {
  std::uint32_t callee;
  const lang::Argument* argument;
};

std::vector<NamedArgument> named_arguments(const Analysis& analysis) {
  std::vector<NamedArgument> found;
  for (const lang::CallExpr* call : analysis.symbols().named_calls()) {
    const lang::Expr& callee = *call->callee;
    const bool is_member = callee.kind == lang::ExprKind::Attribute;
    if (!is_member && callee.kind != lang::ExprKind::Name) continue;
    const std::uint32_t begin =
        is_member ? static_cast<const lang::AttributeExpr&>(callee).name_span.begin : callee.span.begin;
    for (const lang::Argument& each : call->arguments)
      if (each.kind == lang::Argument::Kind::Named) found.push_back({begin, &each});
  }
  return found;
}

std::optional<NamedArgument> named_argument_at(const Analysis& analysis, std::size_t offset) {
  for (const NamedArgument& each : named_arguments(analysis)) {
    const lang::Span& span = each.argument->name_span;
    if (span.begin <= offset && offset <= span.end) return each;
  }
  return std::nullopt;
}

// What a variable of a module stands for in the module that it is imported from; nothing where it is no name
// imported from a file of the user's.
std::optional<SharedName> imported_from(const std::string& file, const Symbol& symbol) {
  const lang::ImportStmt* const import = import_of(symbol);
  if (import == nullptr) return std::nullopt;
  for (const lang::ImportedName& each : import->names) {
    if (each.as != symbol.name || is_renamed(each)) continue;
    const std::string from = imported_file(folder_of(file), *import);
    if (!from.empty()) return SharedName{from, std::string(each.name)};
  }
  return std::nullopt;
}

// The texts of programs, each read once.
class Programs {
 public:
  explicit Programs(Workspace& workspace) {
    for (const auto& [uri, document] : workspace.documents())
      if (!document->path().empty()) open_[canonical(document->path())] = document.get();
  }

  // Null for what cannot be read.
  NamePlaces* find(const std::string& file) {
    auto [found, is_new] = read_.try_emplace(file);
    if (is_new) read(file, found->second);
    return found->second.analysis == nullptr ? nullptr : &found->second;
  }
  std::set<std::string> open_files() const {
    std::set<std::string> files;
    for (const auto& [file, document] : open_) files.insert(file);
    return files;
  }

 private:
  void read(const std::string& file, NamePlaces& made) {
    if (const auto open = open_.find(file); open != open_.end()) {
      made.uri = open->second->uri();
      made.analysis = &open->second->analysis();
      return;
    }
    try {
      made.uri = uri_of_path(file);
      made.own = std::make_shared<const Analysis>(file, repl::read_text(file));
      made.analysis = made.own.get();
    } catch (const lang::UserError&) {
      // What cannot be read has no names.
    }
  }

  std::map<std::string, Document*> open_;  // by canonical path
  std::map<std::string, NamePlaces> read_;
};

// Where the name is first given: what a module only imports from another one is that one's.
SharedName origin(Programs& programs, SharedName name) {
  std::set<SharedName> seen;
  while (seen.insert(name).second) {
    const NamePlaces* const program = programs.find(name.file);
    const Symbol* const symbol =
        program == nullptr ? nullptr : variable_of_module(*program->analysis, name.name);
    const auto from = symbol == nullptr ? std::nullopt : imported_from(name.file, *symbol);
    if (!from) break;
    name = *from;
  }
  return name;
}

// Finds the places of one name in one text, and under which names the text hands it on.
class PlaceFinder {
 public:
  PlaceFinder(const Analysis& analysis, std::string file, const SharedName& name)
      : analysis_(analysis), file_(std::move(file)), name_(name) {}

  void find() {
    if (file_ == name_.file) {
      if (const Symbol* const own = variable_of_module(analysis_, name_.name)) add(*own);
    }
    std::set<const lang::ImportStmt*> seen;
    for (const Symbol& each : analysis_.symbols().all()) {
      const lang::ImportStmt* const import = import_of(each);
      if (import == nullptr || !seen.insert(import).second) continue;
      if (imported_file(folder_of(file_), *import) != name_.file) continue;
      if (import->names.empty()) {
        add_members(*import);
      } else {
        add_imported(*import);
      }
    }
  }

  std::vector<Occurrence> places;
  bool hands_on = false;

 private:
  void add(const Symbol& symbol) {
    places.insert(places.end(), symbol.occurrences.begin(), symbol.occurrences.end());
  }

  void add_members(const lang::ImportStmt& import) {
    for (const lang::AttributeExpr* each : analysis_.symbols().members()) {
      if (each->name == name_.name && module_of(analysis_, *each) == &import)
        places.push_back({each->name_span.begin, each->name_span.end, false});
    }
  }

  void add_imported(const lang::ImportStmt& import) {
    for (const lang::ImportedName& each : import.names) {
      if (each.name != name_.name) continue;
      const lang::Span span = own_name(each);
      places.push_back({span.begin, span.end, false});
      const Symbol* const symbol = is_renamed(each) ? nullptr : analysis_.symbols().at(span.begin);
      if (symbol == nullptr) continue;
      add(*symbol);
      hands_on |= symbol->owner == nullptr;
    }
  }

  const Analysis& analysis_;
  const std::string file_;
  const SharedName& name_;
};

void merge(std::vector<Occurrence>& into, const std::vector<Occurrence>& more) {
  into.insert(into.end(), more.begin(), more.end());
  const auto place = [](const Occurrence& each) { return std::pair(each.begin, !each.is_definition); };
  std::ranges::sort(into, {}, place);
  const auto same = std::ranges::unique(into, {}, [](const Occurrence& each) { return each.begin; });
  into.erase(same.begin(), same.end());
}

}  // namespace

std::string imported_file(const std::string& folder, const lang::ImportStmt& import) {
  std::string text(import.module);
  if (!import.is_path) {
    if (!interp::stdlib_source(text).empty()) return "";
    std::ranges::replace(text, '.', '/');
    text += ".kiln";
  }
  const fs::path path = fs::path(text).is_absolute() ? fs::path(text) : fs::path(folder) / text;
  std::error_code failed;
  return fs::exists(path, failed) ? canonical(path.string()) : "";
}

namespace {

// A variable at an offset, apart from parameters.
std::optional<SharedName> shared_variable_at(Programs& programs, const Analysis& analysis,
                                             const std::string& file, std::size_t offset) {
  for (const Symbol& each : analysis.symbols().all()) {
    const lang::ImportStmt* const import = import_of(each);
    if (import == nullptr || offset < import->span.begin || offset > import->span.end) continue;
    for (const lang::ImportedName& imported : import->names) {
      const lang::Span span = own_name(imported);
      if (offset < span.begin || offset > span.end) continue;
      const std::string from = imported_file(folder_of(file), *import);
      if (from.empty()) return std::nullopt;
      return origin(programs, {from, std::string(imported.name)});
    }
  }
  if (const lang::AttributeExpr* const member = analysis.symbols().member_at(offset)) {
    const lang::ImportStmt* const import = module_of(analysis, *member);
    const std::string from = import == nullptr ? "" : imported_file(folder_of(file), *import);
    if (from.empty()) return std::nullopt;
    return origin(programs, {from, std::string(member->name)});
  }
  const Symbol* const symbol = analysis.symbols().at(offset);
  if (symbol == nullptr || symbol->owner != nullptr || !symbol->is_defined()) return std::nullopt;
  if (import_of(*symbol) != nullptr) {
    const auto from = imported_from(file, *symbol);
    return from ? std::optional(origin(programs, *from)) : std::nullopt;
  }
  return SharedName{file, symbol->name};
}

// A parameter of a function of this text.
std::optional<SharedName> own_parameter_at(const Analysis& analysis, const std::string& file,
                                           std::size_t offset) {
  const Symbol* const parameter = analysis.symbols().at(offset);
  if (parameter == nullptr || parameter->owner == nullptr || parameter->kind != SymbolKind::Parameter)
    return std::nullopt;
  for (const Symbol& each : analysis.symbols().all())
    if (only_function(each) == parameter->owner) return SharedName{file, each.name, parameter->name};
  return std::nullopt;
}

// The parameter that an argument names; nothing where no text says which function is called.
std::optional<SharedName> named_parameter(Programs& programs, const Analysis& analysis,
                                          const std::string& file, const NamedArgument& named) {
  auto called = shared_variable_at(programs, analysis, file, named.callee);
  const NamePlaces* const program = called ? programs.find(called->file) : nullptr;
  const Symbol* const variable =
      program == nullptr ? nullptr : variable_of_module(*program->analysis, called->name);
  const lang::FunctionExpr* const function = variable == nullptr ? nullptr : only_function(*variable);
  const std::string name(named.argument->name);
  if (function == nullptr || parameter_of(*program->analysis, *function, name) == nullptr)
    return std::nullopt;
  called->parameter = name;
  return called;
}

}  // namespace

std::optional<SharedName> shared_name_at(Workspace& workspace, Document& document, std::size_t offset) {
  const std::string file = document.path().empty() ? std::string() : canonical(document.path());
  if (file.empty()) return std::nullopt;
  Programs programs(workspace);
  const Analysis& analysis = document.analysis();
  if (auto own = own_parameter_at(analysis, file, offset)) return own;
  if (const auto named = named_argument_at(analysis, offset))
    return named_parameter(programs, analysis, file, *named);
  return shared_variable_at(programs, analysis, file, offset);
}

std::optional<NameAt> name_at(Document& document, std::size_t offset) {
  const Analysis& analysis = document.analysis();
  if (const lang::AttributeExpr* const member = analysis.symbols().member_at(offset))
    return NameAt{member->name_span.begin, member->name_span.end, std::string(member->name)};
  if (const auto named = named_argument_at(analysis, offset)) {
    const lang::Argument& argument = *named->argument;
    return NameAt{argument.name_span.begin, argument.name_span.end, std::string(argument.name)};
  }
  for (const Symbol& each : analysis.symbols().all()) {
    for (const Occurrence& at : each.occurrences)
      if (at.begin <= offset && offset <= at.end) return NameAt{at.begin, at.end, each.name};
    const lang::ImportStmt* const import = import_of(each);
    if (import == nullptr) continue;
    for (const lang::ImportedName& imported : import->names) {
      const lang::Span span = own_name(imported);
      if (span.begin <= offset && offset <= span.end)
        return NameAt{span.begin, span.end, std::string(imported.name)};
    }
  }
  return std::nullopt;
}

namespace {

// Of the places of a function in a text, the arguments that calls of it give the parameter by name, and in
// its own text the parameter itself.
std::vector<Occurrence> places_of_parameter(const Analysis& analysis, bool is_own,
                                            const std::vector<Occurrence>& places, const SharedName& name) {
  std::vector<Occurrence> named, all;
  for (const NamedArgument& each : named_arguments(analysis)) {
    const lang::Span& span = each.argument->name_span;
    if (each.argument->name == name.parameter &&
        std::ranges::find(places, each.callee, &Occurrence::begin) != places.end())
      named.push_back({span.begin, span.end, false});
  }
  const Symbol* const variable = is_own ? variable_of_module(analysis, name.name) : nullptr;
  const lang::FunctionExpr* const function = variable == nullptr ? nullptr : only_function(*variable);
  const Symbol* const own = function == nullptr ? nullptr : parameter_of(analysis, *function, name.parameter);
  if (own != nullptr) all = own->occurrences;
  merge(all, named);
  return all;
}

}  // namespace

std::vector<NamePlaces> places_of(Workspace& workspace, const std::vector<std::string>& folders,
                                  const SharedName& name) {
  Programs programs(workspace);
  std::set<std::string> files = programs.open_files();
  files.insert(name.file);
  try {
    for (const std::string& each : repl::find_programs(folders).paths) files.insert(canonical(each));
  } catch (const repl::UsageError&) {
    // A folder of so many files is no folder of programs.
  }
  std::map<std::string, std::vector<Occurrence>> found;
  const SharedName variable{name.file, name.name};
  std::set<SharedName> seen{variable};
  for (std::vector<SharedName> left{variable}; !left.empty();) {
    const SharedName wanted = left.back();
    left.pop_back();
    for (const std::string& file : files) {
      const NamePlaces* const program = programs.find(file);
      if (program == nullptr) continue;
      PlaceFinder finder(*program->analysis, file, wanted);
      finder.find();
      if (!finder.places.empty()) merge(found[file], finder.places);
      const SharedName handed{file, wanted.name};
      if (finder.hands_on && seen.insert(handed).second) left.push_back(handed);
    }
  }
  std::vector<NamePlaces> all;
  for (auto& [file, places] : found) {
    if (!name.parameter.empty()) {
      places = places_of_parameter(*programs.find(file)->analysis, file == name.file, places, name);
      if (places.empty()) continue;
    }
    all.push_back(*programs.find(file));
    all.back().places = std::move(places);
  }
  return all;
}

}  // namespace kiln::editor
