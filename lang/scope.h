// Owns the scopes of functions while names are resolved: which names are local, captured or of the module.
#pragma once

#include <functional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lang/ast.h"

namespace kiln::lang {

// A name that a statement of a function's body assigns.
struct AssignedName {
  std::string_view name;
  Span span;
};
// Of this function only, not of those inside it. Targets of comprehensions are not among them.
std::vector<AssignedName> assigned_names(const Block& body);
std::vector<AssignedName> nonlocal_names(const Block& body);
// The names of a target, from left to right.
void collect_target_names(const Expr& target, std::vector<AssignedName>& out);
void collect_pattern_names(const Pattern& pattern, std::vector<AssignedName>& out);

class Scope {
 public:
  // `parent` is null for the module.
  Scope(FunctionExpr& function, Scope* parent) : function_(function), parent_(parent) {}

  bool is_module() const { return parent_ == nullptr; }
  Scope* parent() const { return parent_; }

  // A local of the whole function. In the module: a name of the module, which takes no slot.
  std::uint32_t declare(std::string_view name);
  bool declares(std::string_view name) const { return names_.contains(name); }

  // Parameters are the first locals, one each, in order. A repeated `_` keeps its slot but not the name.
  void declare_parameters(std::span<Parameter> parameters);

  // A local that only a comprehension sees, until it is popped.
  void push_comprehension_local(std::string_view name);
  void pop_comprehension_locals(std::size_t count);

  // What a name means here. `binding` is kept and corrected in `finish` when a local turns out to be
  // captured.
  void bind(std::string_view name, Binding& binding);
  // Whether an enclosing function (not the module) has the name.
  bool captures(std::string_view name) { return capture(name) != kNone; }
  // Writes locals and captures into the function, with storage from `ast`.
  void finish(Ast& ast);

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  std::uint32_t find_local(std::string_view name) const;
  std::uint32_t capture(std::string_view name);
  std::uint32_t add_local(std::string_view name);

  struct ComprehensionLocal {
    std::string_view name;
    std::uint32_t slot;
  };

  FunctionExpr& function_;
  Scope* parent_;
  std::vector<std::string_view> locals_;
  std::vector<char> is_cell_;
  std::unordered_map<std::string_view, std::uint32_t> names_;
  std::vector<ComprehensionLocal> comprehension_locals_;
  std::vector<CaptureSource> captures_;
  std::unordered_map<std::string_view, std::uint32_t> capture_slots_;
  std::vector<Binding*> local_uses_;
};

}  // namespace kiln::lang
