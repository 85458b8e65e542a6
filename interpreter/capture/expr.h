// Owns varying numbers of the program, as expressions of the values that a call finds.
#pragma once

#include <vector>

#include "interpreter/capture/source.h"
#include "lang/ast.h"
#include "tensor/shape.h"

namespace kiln::interp {
class Interpreter;
}

namespace kiln::interp::capture {

using ExprId = int;

struct Expr {
  enum class Kind : std::uint8_t {
    Source,  // the number at a source
    Constant,
    Size,  // an expression of sizes
    Binary,
    Compare,
    Negate,
    Call,  // of the host function `constant` with `parts`
  };
  Kind kind = Kind::Constant;
  SourceId source = -1;
  Value constant;
  Dim size;
  lang::BinaryOp binary = lang::BinaryOp::Add;
  lang::CompareOp compare = lang::CompareOp::Eq;
  ExprId a = -1;
  ExprId b = -1;
  std::vector<ExprId> parts{};
  void visit_references(ReferenceVisitor& visitor) const { interp::visit_references(constant, visitor); }
};

// A symbol of sizes: a dimension of a tensor, or a whole number.
struct Symbol {
  std::string name;
  std::int64_t hint = 0;
  std::int64_t before = 0;  // in an earlier call
  SourceId tensor = -1;
  int dim = 0;
  ExprId expr = -1;
};

struct Exprs {
  std::vector<Expr> all;
  std::vector<Symbol> symbols;
  const Expr& operator[](ExprId id) const { return all[static_cast<std::size_t>(id)]; }
  std::string text(ExprId id, const Sources& sources) const;  // "n // 2"
};

// The values of expressions in one call. Throws what the operators throw.
class Numbers {
 public:
  Numbers(Interpreter& interpreter, const Exprs& exprs, SourceValues& found)
      : interpreter_(interpreter), exprs_(exprs), found_(found), values_(exprs.all.size()) {}
  // Unset when the expression gives no number now.
  const Value& operator[](ExprId id);
  std::optional<std::int64_t> symbol(std::size_t k);
  // The values of the symbols in `wanted`; false when one has no value.
  bool symbols(const SymbolValues& wanted, SymbolValues& values);

 private:
  Value evaluate(const Expr& expr);
  Value evaluate_size(Dim size);
  Value call(const Expr& expr);

  Interpreter& interpreter_;
  const Exprs& exprs_;
  SourceValues& found_;
  SmallVector<std::optional<Value>, 6> values_;
};

}  // namespace kiln::interp::capture
