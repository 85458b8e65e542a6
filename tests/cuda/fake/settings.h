// Owns how the fake libraries are set: by variables of the environment, read when they are asked for, so that
// the product under test knows nothing of it.
//
//   KILN_FAKE_FAIL                "cuMemAlloc_v2:3:2,cuInit:1:999": the third cuMemAlloc_v2 gives error 2, …
//   KILN_FAKE_CARDS               how many cards there are (1)
//   KILN_FAKE_CARD                their name ("Fake card")
//   KILN_FAKE_MEMORY              bytes of memory of each (1 GiB)
//   KILN_FAKE_CAPABILITY          compute capability, 90 for 9.0 (90)
//   KILN_FAKE_SHARED              the most shared memory that a block may opt into (101376, as consumer
//   cards) KILN_FAKE_DRIVER_VERSION      as cuDriverGetVersion gives it (13000) KILN_FAKE_NVRTC_VERSION
//   "13.0" KILN_FAKE_ARCHITECTURES       that NVRTC compiles for ("75,80,86,87,88,89,90,100,103,110,120,121")
//   KILN_FAKE_CUBLASLT_VERSION    as cublasLtGetVersion gives it (130000)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::fake {

std::string text_setting(const char* variable, const char* otherwise);
std::int64_t number_setting(const char* variable, std::int64_t otherwise);
// The numbers of a text such as "75,80".
std::vector<int> numbers_in(const std::string& text, char separator);

// Counts this call of an entry point. The error that it is set to give, or 0.
int count_call(std::string_view entry);

// What a library does not do yet is told on stderr, so that no test takes it for a refusal of its own.
void tell_missing(std::string_view entry);

}  // namespace kiln::fake
