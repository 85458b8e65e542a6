// Slices of threads that communicate.
#include "dist/transport/short_slice.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <thread>

namespace kiln::short_slice_test {

namespace {

// Nanoseconds; zero where the kernel knows of no slices.
std::uint64_t slice_of_this_thread() {
  std::array<std::uint64_t, 6> attributes{};  // the slice is behind three fields of 8 bytes
  if (syscall(SYS_sched_getattr, 0, attributes.data(), sizeof attributes, 0) != 0) return 0;
  return attributes[3];
}

}  // namespace

TEST_CASE("a thread has short slices for a while, and the threads that it starts then keep them",
          "[slices]") {
  const std::uint64_t before = slice_of_this_thread();
  if (before == 0) {
    WARN("this kernel knows of no slices: they are not tried");
    return;
  }
  std::uint64_t within = 0, inherited = 0;
  {
    const kiln::dist::ShortSlice slice;
    within = slice_of_this_thread();
    std::thread([&] { inherited = slice_of_this_thread(); }).join();
  }
  CHECK(within == 100'000);
  CHECK(inherited == within);
  CHECK(slice_of_this_thread() == before);
}

}  // namespace kiln::short_slice_test
