// The fake driver: copies and fills. Those between cards and memory that the driver gave are done in the
// order of the stream; of other memory of the host they are done with when the call returns, as the driver
// says.
#include <cstring>
#include <utility>
#include <vector>

#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/host_memory.h"
#include "tests/cuda/fake/state.h"

namespace kiln::cuda {
namespace {

using namespace kiln::fake;

std::byte* bytes_at(Address address) { return reinterpret_cast<std::byte*>(address); }

bool is_on_card(Address address, std::size_t bytes) { return state().memory.find(address, bytes) != nullptr; }

Work copying(void* to, const void* from, std::size_t bytes) {
  return [=]() -> Failure {
    std::memmove(to, from, bytes);
    return {};
  };
}

Result copy_on_cards(StreamData& stream, Address to, Address from, std::size_t bytes) {
  if (!is_on_card(to, bytes) || !is_on_card(from, bytes)) return kInvalidValue;
  give(stream, copying(bytes_at(to), bytes_at(from), bytes));
  return kSuccess;
}

template <class T>
Result fill(StreamData& stream, Address to, T value, std::size_t count) {
  if (to % sizeof(T) != 0 || count > SIZE_MAX / sizeof(T) || !is_on_card(to, count * sizeof(T)))
    return kInvalidValue;
  give(stream, [=]() -> Failure {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(bytes_at(to) + i * sizeof(T), &value, sizeof(T));
    return {};
  });
  return kSuccess;
}

}  // namespace

extern "C" {

Result cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, StreamHandle handle) {
  return enter_stream("cuMemcpyHtoDAsync_v2", handle, [&](StreamData& stream) {
    if (from == nullptr || !is_on_card(to, bytes)) return kInvalidValue;
    const HostPlace place = host_place(from, bytes);
    if (place == HostPlace::BeyondBlock) return kInvalidValue;
    if (place == HostPlace::Block) {
      give(stream, copying(bytes_at(to), from, bytes));
      return kSuccess;
    }
    const auto* const begin = static_cast<const std::byte*>(from);
    give(stream, [to, taken = std::vector<std::byte>(begin, begin + bytes)]() -> Failure {
      std::memcpy(bytes_at(to), taken.data(), taken.size());
      return {};
    });
    return kSuccess;
  });
}

Result cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, StreamHandle handle) {
  MomentHandle done;
  const Result given = enter_stream("cuMemcpyDtoHAsync_v2", handle, [&](StreamData& stream) {
    if (to == nullptr || !is_on_card(from, bytes)) return kInvalidValue;
    const HostPlace place = host_place(to, bytes);
    if (place == HostPlace::BeyondBlock) return kInvalidValue;
    const MomentHandle moment = give(stream, copying(to, bytes_at(from), bytes));
    if (place == HostPlace::Plain) done = moment;
    return kSuccess;
  });
  wait_for({done});
  return given;
}

Result cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, StreamHandle handle) {
  return enter_stream("cuMemcpyDtoDAsync_v2", handle,
                      [&](StreamData& stream) { return copy_on_cards(stream, to, from, bytes); });
}

Result cuMemcpyPeerAsync(Address to, ContextHandle to_context, Address from, ContextHandle from_context,
                         std::size_t bytes, StreamHandle handle) {
  return enter_stream("cuMemcpyPeerAsync", handle, [&](StreamData& stream) {
    if (!is_context(to_context) || !is_context(from_context)) return static_cast<int>(kInvalidContext);
    return copy_on_cards(stream, to, from, bytes);
  });
}

Result cuMemsetD8Async(Address to, unsigned char value, std::size_t count, StreamHandle handle) {
  return enter_stream("cuMemsetD8Async", handle,
                      [&](StreamData& stream) { return fill(stream, to, value, count); });
}

Result cuMemsetD32Async(Address to, unsigned value, std::size_t count, StreamHandle handle) {
  return enter_stream("cuMemsetD32Async", handle,
                      [&](StreamData& stream) { return fill(stream, to, value, count); });
}

}  // extern "C"
}  // namespace kiln::cuda
