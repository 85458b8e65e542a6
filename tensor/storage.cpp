#include "tensor/storage.h"

#include <cstring>
#include <new>

#include "tensor/error.h"
#include "tensor/memory.h"

namespace kiln {
namespace {

// A buffer's record lies in front of its data, in one block.
constexpr std::size_t kHeader = 64;
static_assert(sizeof(Buffer) <= kHeader);

// Ids are taken in runs, so that most tensors touch no shared counter.
std::uint64_t next_id() {
  constexpr std::uint64_t kRun = 4096;
  static std::atomic<std::uint64_t> next_run{1};
  thread_local constinit std::uint64_t next = 0;
  if (next % kRun == 0) next = next_run.fetch_add(1, std::memory_order_relaxed) * kRun;
  return next++;
}

}  // namespace

Buffer::Buffer(std::byte* data, std::size_t bytes, Device device)
    : data_(data), bytes_(bytes), id_(next_id()), device_(device) {}

Ref<Buffer> Buffer::allocate(std::size_t bytes, Device device) {
  if (device.kind != Device::Kind::Cpu) {
    throw OpError(ErrorKind::Device, "there is no device \"" + to_string(device) + "\" here");
  }
  memory::count_buffer(bytes);
  void* block;
  try {
    block = memory::take_block(kHeader + bytes);
  } catch (...) {
    memory::uncount_buffer(bytes);
    throw;
  }
  auto* data = static_cast<std::byte*>(block) + kHeader;
  return Ref<Buffer>::made(new (block) Buffer(data, bytes, device));
}

Ref<Buffer> Buffer::without_memory(std::size_t bytes, Device device) {
  return Ref<Buffer>::made(new (memory::take_block(kHeader)) Buffer(nullptr, bytes, device));
}

void destroy(Buffer* buffer) {
  const bool has_memory = buffer->data_ != nullptr;
  const std::size_t bytes = buffer->bytes_;
  buffer->~Buffer();
  if (!has_memory) return memory::give_block(buffer, kHeader);
  memory::uncount_buffer(bytes);
  memory::give_block(buffer, kHeader + bytes);
}

void copy_bytes(const Buffer& to, std::size_t to_first, const Buffer& from, std::size_t from_first,
                std::size_t bytes) {
  std::memcpy(to.data() + to_first, from.data() + from_first, bytes);
}

Storage::Storage(Ref<Buffer> buffer) : buffer_(std::move(buffer)), id_(next_id()) {}

Ref<Storage> Storage::create(Ref<Buffer> buffer) {
  void* memory = memory::take_object(memory::Pool::Storage, sizeof(Storage));
  return Ref<Storage>::made(new (memory) Storage(std::move(buffer)));
}

void destroy(Storage* storage) {
  storage->~Storage();
  memory::give_object(memory::Pool::Storage, storage);
}

std::byte* Storage::writable_data() {
  if (buffer_->ref_count() > 1) {
    Ref<Buffer> copy = Buffer::allocate(buffer_->bytes(), buffer_->device());
    copy_bytes(*copy, 0, *buffer_, 0, buffer_->bytes());
    buffer_ = std::move(copy);
  }
  ++version_;
  return buffer_->data();
}

}  // namespace kiln
