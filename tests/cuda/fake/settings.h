// Owns how the fake libraries are set: by variables of the environment, read when they are asked for, so that
// the product under test knows nothing of it.
//
// What there is:
//   KILN_FAKE_CARDS            how many cards there are (1)
//   KILN_FAKE_CARD             their name ("Fake card")
//   KILN_FAKE_MEMORY           bytes of memory of each (1 GiB)
//   KILN_FAKE_CAPABILITY       compute capability, 90 for 9.0 (90)
//   KILN_FAKE_SHARED           bytes of shared memory that a block may opt into (101376)
//   KILN_FAKE_DRIVER_VERSION   as cuDriverGetVersion gives it (13000)
//   KILN_FAKE_NVRTC_VERSION    (13.0)
//   KILN_FAKE_ARCHITECTURES    that NVRTC compiles for (75,80,86,87,88,89,90,100,103,110,120,121)
//   KILN_FAKE_CUBLASLT_VERSION as cublasLtGetVersion gives it (130000)
//   KILN_FAKE_NCCL_VERSION     as ncclGetVersion gives it (22809)
//
// What fails:
//   KILN_FAKE_FAIL             cuMemAlloc_v2:3:2,cuInit:1:999: the third cuMemAlloc_v2 gives error 2, …
//   KILN_FAKE_OOM_AT           3: the third allocation, of a card or of the host, finds no memory
//
// How it runs:
//   KILN_FAKE_SYNC             1: streams do their work within the call that gives it
//   KILN_FAKE_SEED             the order of blocks and threads is drawn from it; 0 is plain order (0)
//   KILN_FAKE_DELAYS           streams pause at moments that are drawn from it; 0 is none (0)
//   KILN_FAKE_CHECK            1: each access of kernels to memory is looked at when it is made: is it within
//                              a block, and does it race with one of another thread (0)
//   KILN_FAKE_GUARD            what keeps the host's code from memory of cards: key, where the
//                              processor has protection keys, else pages, which are open while a
//                              stream works; or none
//   KILN_FAKE_QUARANTINE       bytes that were freed and are not used again so far (16 MiB)
//   KILN_FAKE_COMPILER         that compiles kernels (clang++-19, clang++)
//   KILN_FAKE_PTX              a real NVRTC: what runs is the PTX that it makes of kernels
//   KILN_FAKE_CACHE            folder of compiled kernels (kiln_fake_cache_<user>, among temporary files)
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

bool checks_kernels();

// Counts this call of an entry point. The error that it is set to give, or 0.
int count_call(std::string_view entry);

// What a library does not do yet is told on stderr, so that no test takes it for a refusal of its own.
void tell_missing(std::string_view entry);

}  // namespace kiln::fake
