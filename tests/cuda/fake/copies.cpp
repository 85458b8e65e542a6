// The fake driver: copies and fills. Those between cards and memory that the driver gave are done in the
// order of the stream; of other memory of the host they are done with when the call returns, as the driver
// says.
#include <cstring>
#include <utility>
#include <vector>

#include "tests/cuda/fake/capture.h"
#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/host_memory.h"
#include "tests/cuda/fake/state.h"

namespace kiln::cuda {
namespace {

using namespace kiln::fake;

std::byte* bytes_at(Address address) { return reinterpret_cast<std::byte*>(address); }

bool is_on_card(Address address, std::size_t bytes) { return state().memory.find(address, bytes) != nullptr; }

// When the work is done its memory may have been freed: by another stream, or before a graph is launched.
Failure missing() { return {kIllegalAddress, "a copy or a fill is of memory that was freed"}; }

bool is_there(Address address, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  return state().memory.may_be_used(address, bytes);
}

enum class From { Host, Card };
enum class To { Host, Card };

GraphNodeData copy_node(void* to, To to_where, const void* from, From from_where, std::size_t bytes) {
  GraphNodeData node;
  node.type = kNodeCopy;
  node.run = [=]() -> Failure {
    if (to_where == To::Card && !is_there(reinterpret_cast<Address>(to), bytes)) return missing();
    if (from_where == From::Card && !is_there(reinterpret_cast<Address>(from), bytes)) return missing();
    std::memmove(to, from, bytes);
    return {};
  };
  return node;
}

Result copy_on_cards(StreamData& stream, Address to, Address from, std::size_t bytes) {
  if (!is_on_card(to, bytes) || !is_on_card(from, bytes)) return kInvalidValue;
  return give(stream, copy_node(bytes_at(to), To::Card, bytes_at(from), From::Card, bytes));
}

template <class T>
Result fill(StreamData& stream, Address to, T value, std::size_t count) {
  if (to % sizeof(T) != 0 || count > SIZE_MAX / sizeof(T) || !is_on_card(to, count * sizeof(T)))
    return kInvalidValue;
  GraphNodeData node;
  node.type = kNodeFill;
  node.run = [=]() -> Failure {
    if (!is_there(to, count * sizeof(T))) return missing();
    for (std::size_t i = 0; i < count; ++i) std::memcpy(bytes_at(to) + i * sizeof(T), &value, sizeof(T));
    return {};
  };
  return give(stream, std::move(node));
}

}  // namespace

extern "C" {

Result cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, StreamHandle handle) {
  return enter_stream("cuMemcpyHtoDAsync_v2", handle, [&](StreamData& stream) {
    const HostPlace place = host_place(from, bytes);
    if (from == nullptr || !is_on_card(to, bytes) || place == HostPlace::BeyondBlock) return kInvalidValue;
    // A graph reads the host's memory when it is launched.
    if (place == HostPlace::Block || stream.capture != nullptr)
      return give(stream, copy_node(bytes_at(to), To::Card, from, From::Host, bytes));
    const auto* const begin = static_cast<const std::byte*>(from);
    GraphNodeData node;
    node.run = [to, taken = std::vector<std::byte>(begin, begin + bytes)]() -> Failure {
      if (!is_there(to, taken.size())) return missing();
      std::memcpy(bytes_at(to), taken.data(), taken.size());
      return {};
    };
    return give(stream, std::move(node));
  });
}

Result cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, StreamHandle handle) {
  MomentHandle done;
  const Result given = enter_stream("cuMemcpyDtoHAsync_v2", handle, [&](StreamData& stream) {
    const HostPlace place = host_place(to, bytes);
    if (to == nullptr || !is_on_card(from, bytes) || place == HostPlace::BeyondBlock) return kInvalidValue;
    return give(stream, copy_node(to, To::Host, bytes_at(from), From::Card, bytes),
                place == HostPlace::Plain ? &done : nullptr);
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
