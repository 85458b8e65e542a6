// Owns how much is done of tests that draw many cases.
#pragma once

namespace kiln::testing {

// One of so many cases is enough: sanitizers make a program ten times as slow. No multiple of what cases go
// by.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kEvery = 5;
#else
inline constexpr int kEvery = 1;
#endif

}  // namespace kiln::testing
