// Owns the variables of a program: what each name of the text means, and where else it stands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lang/ast.h"

namespace kiln::editor {

enum class SymbolKind : std::uint8_t { Variable, Parameter, Function, Struct, Module, Size };

struct Occurrence {
  std::uint32_t begin;
  std::uint32_t end;
  bool is_definition;  // it gives the variable a value, or declares it
};

// One variable. Names that the text gives no meaning are one each, too: those of the library.
struct Symbol {
  std::string name;
  SymbolKind kind = SymbolKind::Variable;
  const lang::FunctionExpr* owner = nullptr;     // whose local it is; null: a variable of the module
  const lang::Stmt* definition = nullptr;        // the last one as a function, a struct or an import
  const lang::FunctionExpr* function = nullptr;  // that it is defined as
  std::vector<Occurrence> occurrences;           // in order of place

  bool is_defined() const;
  // The first occurrence that defines the name; null when the document does not define it.
  const Occurrence* first_definition() const;
};

class SymbolTable {
 public:
  // Of a tree whose names are resolved as far as they can be.
  explicit SymbolTable(lang::Ast& ast);

  const std::vector<Symbol>& all() const { return symbols_; }
  // That has an occurrence around the offset or ending there; null when none has.
  const Symbol* at(std::size_t offset) const;
  // Names behind points, in order of place.
  const std::vector<const lang::AttributeExpr*>& members() const { return members_; }
  const lang::AttributeExpr* member_at(std::size_t offset) const;
  // All functions, outer ones before those within.
  const std::vector<const lang::FunctionExpr*>& functions() const { return functions_; }
  // Calls that give an argument by the name of its parameter.
  const std::vector<const lang::CallExpr*>& named_calls() const { return named_calls_; }

 private:
  struct Entry {
    std::uint32_t begin;
    std::uint32_t end;
    std::size_t symbol;
  };
  std::vector<Symbol> symbols_;
  std::vector<Entry> entries_;  // by place
  std::vector<const lang::AttributeExpr*> members_;
  std::vector<const lang::FunctionExpr*> functions_;
  std::vector<const lang::CallExpr*> named_calls_;
};

}  // namespace kiln::editor
