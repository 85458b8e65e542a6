#include "jit/llvm/flow_sizes.h"

#include <bit>
#include <limits>

namespace kiln::jit {

llvm::Value* FlowSizes::holds(const SizeGuard& guard) {
  llvm::Value* lost = build_.getFalse();
  llvm::Value* const a = value(guard.a, &lost);
  llvm::Value* const b = value(guard.b, &lost);
  const auto related = [&] {
    switch (guard.relation) {
      case SizeRelation::Equal:
        return build_.CreateICmpEQ(a, b);
      case SizeRelation::NotEqual:
        return build_.CreateICmpNE(a, b);
      case SizeRelation::Less:
        return build_.CreateICmpSLT(a, b);
      case SizeRelation::AtMost:
        break;
    }
    return build_.CreateICmpSLE(a, b);
  };
  return build_.CreateAnd(related(), build_.CreateNot(lost));
}

llvm::Value* FlowSizes::value(Dim size, llvm::Value** lost) {
  const auto constant = [this](std::int64_t number) {
    return build_.getInt64(static_cast<std::uint64_t>(number));
  };
  // What else sizes are asked for is not in this library.
  if (size.is_int()) return constant(std::bit_cast<std::int64_t>(size));
  const SizeExpression& expression = *size.expression();
  llvm::Value* total = nullptr;
  for (const SizeTerm& term : expression.terms) {
    llvm::Value* made = nullptr;
    for (const SizeAtom* const factor : term.factors) {
      llvm::Value* const each = atom(*factor, lost);
      made = made == nullptr ? each : product(made, each, lost);
    }
    if (term.coefficient != 1) made = product(made, constant(term.coefficient), lost);
    total = total == nullptr ? made : sum(total, made, lost);
  }
  if (total == nullptr) return constant(expression.constant);
  return expression.constant == 0 ? total : sum(total, constant(expression.constant), lost);
}

llvm::Value* FlowSizes::atom(const SizeAtom& atom, llvm::Value** lost) {
  if (atom.kind == SizeAtom::Kind::Symbol) return symbol_(atom.text);
  llvm::Value* const a = value(atom.a, lost);
  llvm::Value* const b = value(atom.b, lost);
  if (atom.kind == SizeAtom::Kind::Min) return build_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
  if (atom.kind == SizeAtom::Kind::Max) return build_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
  return divided(atom, a, b, lost);
}

// Rounded down. A divisor that the processor refuses is replaced.
llvm::Value* FlowSizes::divided(const SizeAtom& atom, llvm::Value* a, llvm::Value* b, llvm::Value** lost) {
  llvm::Value* const zero = build_.getInt64(0);
  llvm::Value* const one = build_.getInt64(1);
  llvm::Value* const is_lowest = build_.CreateICmpEQ(
      a, build_.getInt64(static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::min())));
  llvm::Value* const is_minus = build_.CreateICmpEQ(b, build_.getInt64(~std::uint64_t{0}));
  llvm::Value* const refused =
      build_.CreateOr(build_.CreateICmpEQ(b, zero), build_.CreateAnd(is_lowest, is_minus));
  if (lost != nullptr) *lost = build_.CreateOr(*lost, refused);
  llvm::Value* const divisor = build_.CreateSelect(refused, one, b);
  llvm::Value* const quotient = build_.CreateSDiv(a, divisor);
  llvm::Value* const rest = build_.CreateSRem(a, divisor);
  llvm::Value* const differ = build_.CreateICmpSLT(build_.CreateXor(rest, divisor), zero);
  llvm::Value* const goes_down = build_.CreateAnd(build_.CreateICmpNE(rest, zero), differ);
  if (atom.kind == SizeAtom::Kind::FloorDiv)
    return build_.CreateSub(quotient, build_.CreateZExt(goes_down, build_.getInt64Ty()));
  return build_.CreateSelect(goes_down, build_.CreateAdd(rest, divisor), rest);
}

llvm::Value* FlowSizes::sum(llvm::Value* a, llvm::Value* b, llvm::Value** lost) {
  return lost == nullptr ? build_.CreateAdd(a, b) : checked(llvm::Intrinsic::sadd_with_overflow, a, b, lost);
}
llvm::Value* FlowSizes::product(llvm::Value* a, llvm::Value* b, llvm::Value** lost) {
  return lost == nullptr ? build_.CreateMul(a, b) : checked(llvm::Intrinsic::smul_with_overflow, a, b, lost);
}
llvm::Value* FlowSizes::checked(llvm::Intrinsic::ID op, llvm::Value* a, llvm::Value* b, llvm::Value** lost) {
  llvm::Value* const both = build_.CreateBinaryIntrinsic(op, a, b);
  *lost = build_.CreateOr(*lost, build_.CreateExtractValue(both, 1));
  return build_.CreateExtractValue(both, 0);
}

}  // namespace kiln::jit
