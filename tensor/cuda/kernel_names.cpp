#include "tensor/cuda/kernel_names.h"

#include <array>

namespace kiln::cuda {
namespace {

constexpr std::array<const char*, kDTypeCount> kElements = {
    "bool",      "unsigned char", "signed char", "short", "int",
    "long long", "Half",          "BFloat16",    "float", "double"};
constexpr std::array<const char*, cpu::kCombineCount> kCombines = {"SumOf", "ProdOf", "MaxOf", "MinOf"};

}  // namespace

const char* element_name(DType dtype) { return kElements[static_cast<std::size_t>(dtype)]; }
const char* combine_name(cpu::Combine combine) { return kCombines[static_cast<std::size_t>(combine)]; }

}  // namespace kiln::cuda
