#include "jit/llvm/keyed_sum.h"

#include <llvm-c/blake3.h>

namespace kiln::jit {

std::array<std::uint8_t, kSumBytes> keyed_sum(const std::array<std::uint8_t, kSumKeyBytes>& key,
                                              std::initializer_list<std::string_view> parts) {
  static_assert(kSumKeyBytes == LLVM_BLAKE3_KEY_LEN);
  llvm_blake3_hasher hasher;
  llvm_blake3_hasher_init_keyed(&hasher, key.data());
  for (const std::string_view part : parts) llvm_blake3_hasher_update(&hasher, part.data(), part.size());
  std::array<std::uint8_t, kSumBytes> sum{};
  llvm_blake3_hasher_finalize(&hasher, sum.data(), sum.size());
  return sum;
}

}  // namespace kiln::jit
