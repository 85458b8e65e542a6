#include "jit/llvm/half_vectors.h"

#include <llvm/IR/IntrinsicsX86.h>

#include "jit/llvm/kernel_code.h"

namespace kiln::jit {
namespace {

constexpr std::uint32_t kRoundToEven = 0, kRoundAsSet = 4;  // as the instructions have it

llvm::Value* all_lanes(llvm::IRBuilderBase& build) { return build.getInt16(0xffff); }

}  // namespace

llvm::Value* widened(llvm::IRBuilderBase& build, llvm::Value* halves) {
  auto* const type = llvm::FixedVectorType::get(build.getFloatTy(), kVector);
  return build.CreateIntrinsic(
      type, llvm::Intrinsic::x86_avx512_mask_vcvtph2ps_512,
      {halves, llvm::Constant::getNullValue(type), all_lanes(build), build.getInt32(kRoundAsSet)});
}

llvm::Value* narrowed(llvm::IRBuilderBase& build, HalfVectors vectors, llvm::Value* floats) {
  if (vectors == HalfVectors::Of16) {
    auto* const type = llvm::FixedVectorType::get(build.getInt16Ty(), kVector);
    return build.CreateIntrinsic(
        type, llvm::Intrinsic::x86_avx512_mask_vcvtps2ph_512,
        {floats, build.getInt32(kRoundToEven), llvm::Constant::getNullValue(type), all_lanes(build)});
  }
  constexpr int kLow[] = {0, 1, 2, 3, 4, 5, 6, 7}, kHigh[] = {8, 9, 10, 11, 12, 13, 14, 15};
  constexpr int kBoth[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const auto part = [&](llvm::ArrayRef<int> which) {
    return build.CreateIntrinsic(llvm::FixedVectorType::get(build.getInt16Ty(), kVector / 2),
                                 llvm::Intrinsic::x86_vcvtps2ph_256,
                                 {build.CreateShuffleVector(floats, which), build.getInt32(kRoundToEven)});
  };
  return build.CreateShuffleVector(part(kLow), part(kHigh), kBoth);
}

}  // namespace kiln::jit
