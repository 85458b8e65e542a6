#include "jit/llvm/flow_numbers.h"

#include <limits>
#include <stdexcept>

namespace kiln::jit {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

bool is_float(const llvm::Value* x) { return x->getType()->isDoubleTy(); }
bool is_bool(const llvm::Value* x) { return x->getType()->isIntegerTy(1); }

}  // namespace

llvm::Value* FlowNumbers::apply(NumberOp op, std::span<Value* const> operands) {
  Value* const a = operands[0];
  Value* const b = operands.size() > 1 ? operands[1] : nullptr;
  switch (op) {
    case NumberOp::Select:
      return build_.CreateSelect(a, b, operands[2]);
    case NumberOp::Minimum:
      return build_.CreateSelect(less(b, a), b, a);
    case NumberOp::Maximum:
      return build_.CreateSelect(less(a, b), b, a);
    case NumberOp::Equal:
      return equal(a, b);
    case NumberOp::NotEqual:
      return build_.CreateNot(equal(a, b));
    case NumberOp::Less:
      return less(a, b);
    case NumberOp::LessEqual:
      return at_most(a, b);
    case NumberOp::ToBool:
      return build_.CreateNot(equal(a, llvm::Constant::getNullValue(a->getType())));
    default:
      break;
  }
  if (is_float(a)) return of_floats(op, a, b);
  return is_bool(a) ? of_bools(op, a, b) : of_ints(op, a, b);
}

// ---- Comparisons ----

llvm::Value* FlowNumbers::less(Value* a, Value* b) {
  if (is_float(a)) return build_.CreateFCmpOLT(a, b);
  return is_bool(a) ? build_.CreateICmpULT(a, b) : build_.CreateICmpSLT(a, b);
}
llvm::Value* FlowNumbers::at_most(Value* a, Value* b) {
  if (is_float(a)) return build_.CreateFCmpOLE(a, b);
  return is_bool(a) ? build_.CreateICmpULE(a, b) : build_.CreateICmpSLE(a, b);
}
llvm::Value* FlowNumbers::equal(Value* a, Value* b) {
  return is_float(a) ? build_.CreateFCmpOEQ(a, b) : build_.CreateICmpEQ(a, b);
}

// ---- Ints ----

llvm::Value* FlowNumbers::of_ints(NumberOp op, Value* a, Value* b) {
  switch (op) {
    case NumberOp::Add:
      return checked(llvm::Intrinsic::sadd_with_overflow, a, b);
    case NumberOp::Sub:
      return checked(llvm::Intrinsic::ssub_with_overflow, a, b);
    case NumberOp::Mul:
      return checked(llvm::Intrinsic::smul_with_overflow, a, b);
    case NumberOp::Div:
      return quotient(a, b);
    case NumberOp::FloorDiv:
      return floor_quotient(a, b);
    case NumberOp::Mod:
      return floor_rest(a, b);
    case NumberOp::And:
      return build_.CreateAnd(a, b);
    case NumberOp::Or:
      return build_.CreateOr(a, b);
    case NumberOp::Xor:
      return build_.CreateXor(a, b);
    case NumberOp::Invert:
      return build_.CreateNot(a);
    case NumberOp::ShiftLeft:
      return shifted_left(a, b);
    case NumberOp::ShiftRight:
      return shifted_right(a, b);
    case NumberOp::Negate:
      return checked(llvm::Intrinsic::ssub_with_overflow, integer(0), a);
    case NumberOp::Absolute:
      ways_.leave_if(build_.CreateICmpEQ(a, integer(kLowest)));
      return build_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, build_.getFalse());
    case NumberOp::ToFloat:
      return build_.CreateSIToFP(a, build_.getDoubleTy());
    case NumberOp::Index:
      return place(a, b);
    case NumberOp::SliceBound:
      return slice_bound(a, b);
    default:
      return ways_.compute(op, a, b);
  }
}

llvm::Value* FlowNumbers::checked(llvm::Intrinsic::ID op, Value* a, Value* b) {
  Value* const both = build_.CreateBinaryIntrinsic(op, a, b);
  ways_.leave_if(build_.CreateExtractValue(both, 1));
  return build_.CreateExtractValue(both, 0);
}

// Wide enough to hold both exactly.
llvm::Value* FlowNumbers::quotient(Value* a, Value* b) {
  ways_.leave_if(build_.CreateICmpEQ(b, integer(0)));
  llvm::Type* const wide = llvm::Type::getX86_FP80Ty(build_.getContext());
  Value* const made = build_.CreateFDiv(build_.CreateSIToFP(a, wide), build_.CreateSIToFP(b, wide));
  return build_.CreateFPTrunc(made, build_.getDoubleTy());
}

llvm::Value* FlowNumbers::goes_down(Value* rest, Value* divisor) {
  Value* const differ = build_.CreateICmpSLT(build_.CreateXor(rest, divisor), integer(0));
  return build_.CreateAnd(build_.CreateICmpNE(rest, integer(0)), differ);
}

llvm::Value* FlowNumbers::floor_quotient(Value* a, Value* b) {
  Value* const leaves =
      build_.CreateAnd(build_.CreateICmpEQ(b, integer(-1)), build_.CreateICmpEQ(a, integer(kLowest)));
  ways_.leave_if(build_.CreateOr(build_.CreateICmpEQ(b, integer(0)), leaves));
  Value* const down = goes_down(build_.CreateSRem(a, b), b);
  return build_.CreateSub(build_.CreateSDiv(a, b), build_.CreateZExt(down, build_.getInt64Ty()));
}

// The rest of a division by -1 is that by 1, which no processor refuses.
llvm::Value* FlowNumbers::floor_rest(Value* a, Value* b) {
  ways_.leave_if(build_.CreateICmpEQ(b, integer(0)));
  Value* const divisor = build_.CreateSelect(build_.CreateICmpEQ(b, integer(-1)), integer(1), b);
  Value* const rest = build_.CreateSRem(a, divisor);
  return build_.CreateSelect(goes_down(rest, divisor), build_.CreateAdd(rest, divisor), rest);
}

llvm::Value* FlowNumbers::shifted_left(Value* a, Value* b) {
  Value* const is_long = build_.CreateICmpSGT(b, integer(63));
  Value* const loses = build_.CreateAnd(is_long, build_.CreateICmpNE(a, integer(0)));
  ways_.leave_if(build_.CreateOr(build_.CreateICmpSLT(b, integer(0)), loses));
  Value* const places = build_.CreateAnd(b, integer(63));
  Value* const shifted = build_.CreateShl(a, places);
  ways_.leave_if(build_.CreateICmpNE(build_.CreateAShr(shifted, places), a));
  return shifted;
}

llvm::Value* FlowNumbers::shifted_right(Value* a, Value* b) {
  ways_.leave_if(build_.CreateICmpSLT(b, integer(0)));
  return build_.CreateAShr(a, build_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b, integer(63)));
}

llvm::Value* FlowNumbers::place(Value* index, Value* size) {
  Value* const is_behind = build_.CreateICmpSLT(index, integer(0));
  Value* const at = build_.CreateSelect(is_behind, build_.CreateAdd(index, size), index);
  ways_.leave_if(build_.CreateICmpUGE(at, size));
  return at;
}

llvm::Value* FlowNumbers::slice_bound(Value* index, Value* size) {
  Value* const is_behind = build_.CreateICmpSLT(index, integer(0));
  Value* const at = build_.CreateSelect(is_behind, build_.CreateAdd(index, size), index);
  Value* const above = build_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, at, integer(0));
  return build_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, above, size);
}

// ---- Floats and bools ----

llvm::Value* FlowNumbers::of_floats(NumberOp op, Value* a, Value* b) {
  switch (op) {
    case NumberOp::Add:
      return build_.CreateFAdd(a, b);
    case NumberOp::Sub:
      return build_.CreateFSub(a, b);
    case NumberOp::Mul:
      return build_.CreateFMul(a, b);
    case NumberOp::Div:
      ways_.leave_if(build_.CreateFCmpOEQ(b, llvm::ConstantFP::get(b->getType(), 0.0)));
      return build_.CreateFDiv(a, b);
    case NumberOp::Negate:
      return build_.CreateFNeg(a);
    case NumberOp::Absolute:
      return build_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
    case NumberOp::ToInt:
      return toward_zero(a);
    default:
      return ways_.compute(op, a, b);
  }
}

llvm::Value* FlowNumbers::toward_zero(Value* a) {
  const auto bound = [&](double value) { return llvm::ConstantFP::get(a->getType(), value); };
  Value* const fits =
      build_.CreateAnd(build_.CreateFCmpOGE(a, bound(-0x1p63)), build_.CreateFCmpOLT(a, bound(0x1p63)));
  ways_.leave_if(build_.CreateNot(fits));
  return build_.CreateFPToSI(a, build_.getInt64Ty());
}

llvm::Value* FlowNumbers::of_bools(NumberOp op, Value* a, Value* b) {
  switch (op) {
    case NumberOp::And:
      return build_.CreateAnd(a, b);
    case NumberOp::Or:
      return build_.CreateOr(a, b);
    case NumberOp::Xor:
      return build_.CreateXor(a, b);
    case NumberOp::Not:
      return build_.CreateNot(a);
    case NumberOp::ToInt:
      return build_.CreateZExt(a, build_.getInt64Ty());
    case NumberOp::ToFloat:
      return build_.CreateUIToFP(a, build_.getDoubleTy());
    default:
      throw std::runtime_error("bools are no operands of this op of numbers");
  }
}

}  // namespace kiln::jit
