// Owns conversions between f16 and f32 by the processor's own instructions, not as LLVM's `half`: comparing
// and rounding that, LLVM 19 goes through scalar calls.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>

namespace kiln::jit {

// How many f32 the processor makes of f16, and f16 of f32, by one instruction.
enum class HalfVectors : std::uint8_t { None, Of8, Of16 };

// <16 x i16> to <16 x float>, of a processor that has Of16: there is no intrinsic for widening 8 of them.
llvm::Value* widened(llvm::IRBuilderBase& build, llvm::Value* halves);
// <16 x float> to <16 x i16>, to the nearest, ties to even. Not for None.
llvm::Value* narrowed(llvm::IRBuilderBase& build, HalfVectors vectors, llvm::Value* floats);

}  // namespace kiln::jit
