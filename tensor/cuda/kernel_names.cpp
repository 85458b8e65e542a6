#include "tensor/cuda/kernel_names.h"

#include <array>

namespace kiln::cuda {
namespace {

constexpr std::array<const char*, kDTypeCount> kElements = {
    "bool",      "unsigned char", "signed char", "short", "int",
    "long long", "Half",          "BFloat16",    "float", "double"};
constexpr std::array<const char*, kComputeCount> kComputes = {"float", "double", "int", "long long"};
constexpr const char* kRows[] = {
#define KILN_UNARY(name, ...) #name,
#define KILN_BINARY(name, ...) #name,
#define KILN_TERNARY(name, ...) #name,
#include "tensor/ops/elementwise.def"
#undef KILN_UNARY
#undef KILN_BINARY
#undef KILN_TERNARY
};
constexpr std::array<const char*, cpu::kCombineCount> kCombines = {"SumOf", "ProdOf", "MaxOf", "MinOf"};

}  // namespace

const char* element_name(DType dtype) { return kElements[static_cast<std::size_t>(dtype)]; }
const char* compute_name(Compute compute) { return kComputes[static_cast<std::size_t>(compute)]; }
const char* row_name(int row) { return kRows[row]; }
const char* combine_name(cpu::Combine combine) { return kCombines[static_cast<std::size_t>(combine)]; }

}  // namespace kiln::cuda
