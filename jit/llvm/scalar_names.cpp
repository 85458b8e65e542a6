#include "jit/llvm/scalar_names.h"

#include "tensor/ops/scalar.h"

namespace kiln::jit {
namespace {

const char* const kRowNames[] = {
#define KILN_UNARY(name, ...) #name,
#define KILN_BINARY(name, ...) #name,
#define KILN_TERNARY(name, ...) #name,
#include "tensor/ops/elementwise.def"
#undef KILN_UNARY
#undef KILN_BINARY
#undef KILN_TERNARY
};
const bool kHasRange[] = {
#define KILN_UNARY(name, ...) scalar::name::kHasRange,
#define KILN_BINARY(name, ...) scalar::name::kHasRange,
#define KILN_TERNARY(name, ...) false,
#include "tensor/ops/elementwise.def"
#undef KILN_UNARY
#undef KILN_BINARY
#undef KILN_TERNARY
};

constexpr const char* kComputeNames[kComputeCount] = {"f32", "f64", "i32", "i64"};
constexpr DType kComputeTypes[kComputeCount] = {DType::F32, DType::F64, DType::I32, DType::I64};
constexpr const char* kDTypeNames[kDTypeCount] = {"bool", "u8",   "i8",  "i16", "i32", "i64",
                                                  "f16",  "bf16", "f32", "f64", "c64", "c128"};

}  // namespace

std::string row_name(int row) { return kRowNames[row]; }
bool has_range(int row) { return kHasRange[row]; }

std::string name_of(Compute compute) { return kComputeNames[static_cast<int>(compute)]; }
std::string name_of(DType dtype) { return kDTypeNames[static_cast<int>(dtype)]; }
DType dtype_of(Compute compute) { return kComputeTypes[static_cast<int>(compute)]; }

}  // namespace kiln::jit
