#include "tensor/cuda/side_stream.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

Address address_of(const std::byte* data) { return reinterpret_cast<Address>(data); }

}  // namespace

SideStream::SideStream(Context& context) : context_(context) {
  context_.check("cuStreamCreate", driver_api().cuStreamCreate(&handle_, kStreamNonBlocking));
}

SideStream::~SideStream() {
  wait();
  context_.note(driver_api().cuStreamDestroy_v2(handle_));
}

void SideStream::follow(const Event& event) {
  context_.check("cuStreamWaitEvent", driver_api().cuStreamWaitEvent(handle_, event.handle(), 0));
}

// An event that is recorded while the stream is captured would become part of the graph.
void SideStream::follow_program() {
  Event event(context_);
  {
    const std::lock_guard lock(context_.capture_mutex());
    context_.check("cuEventRecord", driver_api().cuEventRecord(event.handle(), context_.stream_itself()));
  }
  follow(event);
}

void SideStream::give(const Work& work) { context_.check(entry_of(work), give_to(handle_, work)); }

void SideStream::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0 || to == from) return;
  context_.check("cuMemcpyDtoDAsync_v2",
                 driver_api().cuMemcpyDtoDAsync_v2(address_of(to), address_of(from), bytes, handle_));
}

void SideStream::upload(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  context_.check("cuMemcpyHtoDAsync_v2",
                 driver_api().cuMemcpyHtoDAsync_v2(address_of(to), from, bytes, handle_));
}

void SideStream::download(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  context_.check("cuMemcpyDtoHAsync_v2",
                 driver_api().cuMemcpyDtoHAsync_v2(to, address_of(from), bytes, handle_));
}

bool SideStream::is_done() {
  const Result result = driver_api().cuStreamQuery(handle_);
  if (result == kNotReady) return false;
  context_.check("cuStreamQuery", result);
  return true;
}

void SideStream::wait() noexcept { context_.note(driver_api().cuStreamSynchronize(handle_)); }

PinnedMemory::PinnedMemory(Context& context, std::size_t bytes) : context_(context) {
  void* memory = nullptr;
  context_.check("cuMemHostAlloc",
                 driver_api().cuMemHostAlloc(&memory, std::max(bytes, std::size_t{1}), kHostPortable));
  data_ = static_cast<std::byte*>(memory);
}

PinnedMemory::~PinnedMemory() { context_.note(driver_api().cuMemFreeHost(data_)); }

}  // namespace kiln::cuda
