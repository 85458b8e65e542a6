#include "lang/scope.h"

#include <algorithm>
#include <utility>

#include "lang/walk.h"

namespace kiln::lang {
namespace {

// Looks at statements only: expressions assign nothing.
class Collector final : public Walker {
 public:
  using Walker::visit;
  std::vector<AssignedName> assigned;
  std::vector<AssignedName> nonlocal;

  void collect(const Block& body) {
    for (Stmt* s : body.statements) visit(*s);
  }
  void visit(Expr&) override {}
  void visit(Stmt& s) override {
    switch (s.kind) {
      case StmtKind::Assign:
        for (const Expr* target : as<AssignStmt>(s).targets) collect_target_names(*target, assigned);
        return;
      case StmtKind::AugAssign:
        return collect_target_names(*as<AugAssignStmt>(s).target, assigned);
      case StmtKind::For:
        collect_target_names(*as<ForStmt>(s).target, assigned);
        break;
      case StmtKind::With:
        for (const WithItem& item : as<WithStmt>(s).items) {
          if (item.target) collect_target_names(*item.target, assigned);
        }
        break;
      case StmtKind::Yield:
        if (as<YieldStmt>(s).target) collect_target_names(*as<YieldStmt>(s).target, assigned);
        return;
      case StmtKind::Try:
        add(as<TryStmt>(s).name, s.span);
        break;
      case StmtKind::Match:
        for (const MatchCase& each : as<MatchStmt>(s).cases) collect_pattern_names(*each.pattern, assigned);
        break;
      case StmtKind::Del:
        for (const Expr* target : as<DelStmt>(s).targets) collect_target_names(*target, assigned);
        return;
      case StmtKind::Function:
        return add(as<FunctionStmt>(s).function->name, s.span);
      case StmtKind::Struct:
        return add(as<StructStmt>(s).name, s.span);
      case StmtKind::Autograd:
        return add(as<AutogradStmt>(s).name, s.span);
      case StmtKind::Import:
        add(as<ImportStmt>(s).as, s.span);
        for (const ImportedName& name : as<ImportStmt>(s).names) add(name.as, name.span);
        return;
      case StmtKind::Nonlocal:
        for (const std::string_view name : as<NonlocalStmt>(s).names) nonlocal.push_back({name, s.span});
        return;
      default:
        break;
    }
    children(s);
  }

 private:
  void add(std::string_view name, Span span) {
    if (!name.empty()) assigned.push_back({name, span});
  }
};

}  // namespace

void collect_target_names(const Expr& target, std::vector<AssignedName>& out) {
  switch (target.kind) {
    case ExprKind::Name:
      out.push_back({as<NameExpr>(target).name, target.span});
      return;
    case ExprKind::Starred:
      return collect_target_names(*as<StarredExpr>(target).operand, out);
    case ExprKind::List:
      for (const Expr* item : as<ListExpr>(target).items) collect_target_names(*item, out);
      return;
    case ExprKind::Tuple:
      for (const Expr* item : as<TupleExpr>(target).items) collect_target_names(*item, out);
      return;
    default:
      return;  // an attribute or an index binds no name
  }
}

void collect_pattern_names(const Pattern& pattern, std::vector<AssignedName>& out) {
  if (!pattern.name.empty()) out.push_back({pattern.name, pattern.span});
  for (const Pattern* part : pattern.parts) collect_pattern_names(*part, out);
}

std::vector<AssignedName> assigned_names(const Block& body) {
  Collector collector;
  collector.collect(body);
  return std::move(collector.assigned);
}

std::vector<AssignedName> nonlocal_names(const Block& body) {
  Collector collector;
  collector.collect(body);
  return std::move(collector.nonlocal);
}

std::uint32_t Scope::add_local(std::string_view name) {
  locals_.push_back(name);
  is_cell_.push_back(0);
  return static_cast<std::uint32_t>(locals_.size() - 1);
}

std::uint32_t Scope::declare(std::string_view name) {
  const auto [entry, fresh] = names_.emplace(name, 0);
  if (fresh && !is_module()) entry->second = add_local(name);
  return entry->second;
}

void Scope::declare_parameters(std::span<Parameter> parameters) {
  for (Parameter& p : parameters) {
    p.binding = {Place::Local, add_local(p.name)};
    local_uses_.push_back(&p.binding);
    names_[p.name] = p.binding.slot;
  }
}

void Scope::push_comprehension_local(std::string_view name) {
  comprehension_locals_.push_back({name, add_local(name)});
}

void Scope::pop_comprehension_locals(std::size_t count) {
  comprehension_locals_.resize(comprehension_locals_.size() - count);
}

std::uint32_t Scope::find_local(std::string_view name) const {
  const auto found = std::find_if(comprehension_locals_.rbegin(), comprehension_locals_.rend(),
                                  [&](const ComprehensionLocal& local) { return local.name == name; });
  if (found != comprehension_locals_.rend()) return found->slot;
  if (is_module()) return kNone;
  const auto named = names_.find(name);
  return named == names_.end() ? kNone : named->second;
}

// The entry of this function's captures for a variable of an enclosing one, made on demand all the way up.
std::uint32_t Scope::capture(std::string_view name) {
  if (!parent_) return kNone;
  if (const auto known = capture_slots_.find(name); known != capture_slots_.end()) return known->second;
  CaptureSource source{name, true, parent_->find_local(name)};
  if (source.slot != kNone) {
    parent_->is_cell_[source.slot] = 1;
  } else {
    source = {name, false, parent_->capture(name)};
    if (source.slot == kNone) return kNone;
  }
  captures_.push_back(source);
  const auto slot = static_cast<std::uint32_t>(captures_.size() - 1);
  capture_slots_.emplace(name, slot);
  return slot;
}

void Scope::bind(std::string_view name, Binding& binding) {
  if (const std::uint32_t slot = find_local(name); slot != kNone) {
    binding = {Place::Local, slot};
    local_uses_.push_back(&binding);
  } else if (const std::uint32_t entry = capture(name); entry != kNone) {
    binding = {Place::Capture, entry};
  } else {
    binding = {Place::Global, 0};
  }
}

void Scope::finish(Ast& ast) {
  for (Binding* use : local_uses_) {
    if (is_cell_[use->slot]) use->place = Place::Cell;
  }
  std::vector<std::string_view> names;
  for (const std::string_view name : locals_) names.push_back(name);
  function_.locals = ast.copy(std::span<const std::string_view>(names));
  const auto cells = std::make_unique<bool[]>(is_cell_.size());
  std::copy(is_cell_.begin(), is_cell_.end(), cells.get());
  function_.local_is_cell = ast.copy(std::span<const bool>(cells.get(), is_cell_.size()));
  function_.captures = ast.copy(std::span<const CaptureSource>(captures_));
}

}  // namespace kiln::lang
