#include "jit/llvm/flow_lanes.h"

#include <numeric>

#include "jit/llvm/combine.h"
#include "jit/llvm/kernel_code.h"
#include "jit/llvm/scalar_names.h"
#include "jit/llvm/vector_steps.h"
#include "jit/llvm/vector_types.h"
#include "tensor/compute.h"

namespace kiln::jit {
namespace {

// What a lane holds before it has an element.
llvm::Constant* identity(llvm::Type* type, const Reduction& reduction) {
  const bool is_float = reduction.accumulator != DType::I64;
  switch (reduction.combine) {
    case cpu::Combine::Sum:
      return llvm::Constant::getNullValue(type);
    case cpu::Combine::Prod:
      return is_float ? llvm::ConstantFP::get(type, 1.0) : llvm::ConstantInt::get(type, 1);
    case cpu::Combine::Max:
      return is_float ? llvm::ConstantFP::getInfinity(type, true)
                      : llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(64));
    case cpu::Combine::Min:
      break;
  }
  return is_float ? llvm::ConstantFP::getInfinity(type)
                  : llvm::ConstantInt::get(type, llvm::APInt::getSignedMaxValue(64));
}

// Lanes fold in halves.
llvm::Value* folded(FlowEmitter& emit, const Reduction& reduction, llvm::Value* low, llvm::Value* high) {
  llvm::IRBuilder<>& build = emit.build();
  llvm::Value* lanes = combined(build, reduction, low, high);
  for (int half = kVector / 2; half > 0; half /= 2) {
    std::vector<int> first(static_cast<std::size_t>(half)), second(static_cast<std::size_t>(half));
    std::iota(first.begin(), first.end(), 0);
    std::iota(second.begin(), second.end(), half);
    lanes = combined(build, reduction, build.CreateShuffleVector(lanes, first),
                     build.CreateShuffleVector(lanes, second));
  }
  return build.CreateExtractElement(lanes, std::uint64_t{0});
}

}  // namespace

llvm::Value* combine_line(FlowEmitter& emit, const Reduction& reduction, llvm::Value* count,
                          const std::function<llvm::Value*(llvm::Value* index, llvm::Value* rest)>& f) {
  static_assert(kReductionLanes == 2 * kVector);
  llvm::IRBuilder<>& build = emit.build();
  llvm::Value* const start = identity(vector_type(build.getContext(), reduction.accumulator), reduction);
  llvm::Value* const half = emit.int_value(kVector);
  const auto take = [&](llvm::Value* lanes, llvm::Value* index, llvm::Value* rest) {
    llvm::Value* const elements = f(index, rest);
    llvm::Value* const taken = combined(build, reduction, lanes, elements);
    return rest == nullptr ? taken : build.CreateSelect(present(emit, rest), taken, lanes);
  };
  llvm::Value* const whole = build.CreateAnd(count, emit.int_value(-kReductionLanes));
  const Round lanes = carried_loop(emit, emit.int_value(0), whole, kReductionLanes, {start, start},
                                   [&](llvm::Value* index, const Round& at) {
                                     llvm::Value* const low = take(at[0], index, nullptr);
                                     return Round{low, take(at[1], build.CreateAdd(index, half), nullptr)};
                                   });
  // What is left: the lower lanes whole, if it reaches so far, then some of the lower or the upper ones.
  llvm::Value* const has_lower = build.CreateIsNotNull(build.CreateAnd(count, half));
  llvm::Value* const lower =
      only_if(emit, has_lower, {lanes[0]}, [&] { return Round{take(lanes[0], whole, nullptr)}; })[0];
  llvm::Value* const rest = build.CreateAnd(count, emit.int_value(kVector - 1));
  const Round all = only_if(emit, build.CreateIsNotNull(rest), {lower, lanes[1]}, [&] {
    llvm::Value* const before = build.CreateSelect(has_lower, lanes[1], lower);
    llvm::Value* const taken = take(before, build.CreateSub(count, rest), rest);
    return Round{build.CreateSelect(has_lower, lower, taken), build.CreateSelect(has_lower, taken, lanes[1])};
  });
  return folded(emit, reduction, all[0], all[1]);
}

Compute combining_compute(DType dtype) {
  const Compute compute = compute_of(dtype);
  return compute == Compute::I32 ? Compute::I64 : compute;
}

llvm::Value* product(llvm::IRBuilderBase& build, llvm::Value* a, llvm::Value* b) {
  return a->getType()->isFPOrFPVectorTy() ? build.CreateFMul(a, b) : build.CreateMul(a, b);
}
llvm::Value* sum(llvm::IRBuilderBase& build, llvm::Value* a, llvm::Value* b) {
  return a->getType()->isFPOrFPVectorTy() ? build.CreateFAdd(a, b) : build.CreateAdd(a, b);
}

llvm::Value* dot_lines(FlowEmitter& emit, llvm::Value* count, const FlowLine& a, const FlowLine& b) {
  llvm::IRBuilder<>& build = emit.build();
  VectorSteps steps(emit.bodies(), build, emit.vectors());
  const Compute compute = combining_compute(a.dtype);
  const Reduction total{.combine = cpu::Combine::Sum, .accumulator = dtype_of(compute)};
  return combine_line(emit, total, count, [&](llvm::Value* index, llvm::Value* rest) {
    llvm::Value* const x = steps.in({load_elements(emit, a, index, rest), a.dtype}, compute);
    llvm::Value* const y = steps.in({load_elements(emit, b, index, rest), b.dtype}, compute);
    return product(build, x, y);
  });
}

}  // namespace kiln::jit
