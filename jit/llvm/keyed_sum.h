// Owns sums over bytes that only who has the key can make: BLAKE3, as LLVM brings it.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace kiln::jit {

inline constexpr std::size_t kSumBytes = 32, kSumKeyBytes = 32;

// Of the parts one behind the other.
std::array<std::uint8_t, kSumBytes> keyed_sum(const std::array<std::uint8_t, kSumKeyBytes>& key,
                                              std::initializer_list<std::string_view> parts);

}  // namespace kiln::jit
