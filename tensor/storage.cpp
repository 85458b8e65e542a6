#include "tensor/storage.h"

#include <new>

#include "tensor/device_memory.h"
#include "tensor/memory.h"

namespace kiln {
namespace {

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

Ref<Buffer> Buffer::without_memory(std::size_t bytes, Device device) {
  void* const record = memory::take_object(memory::Pool::Buffer, sizeof(Buffer));
  return Ref<Buffer>::made(new (record) Buffer(nullptr, bytes, device));
}

Ref<Buffer> Buffer::allocate(std::size_t bytes, Device device) {
  Ref<Buffer> made = without_memory(bytes, device);
  made->data_ = memory_of(device).allocate(device, bytes);
  return made;
}

Ref<Buffer> Buffer::foreign(const ForeignMemory& memory) {
  Ref<Buffer> made = without_memory(memory.bytes, memory.device);
  made->data_ = memory.data;
  made->owner_ = memory.owner;
  made->release_ = memory.release;
  made->shared_storage_ = kReadOnly;
  return made;
}

void destroy(Buffer* buffer) {
  if (buffer->release_ != nullptr)
    buffer->release_(buffer->owner_);
  else if (buffer->data_ != nullptr)
    memory_of(buffer->device_).free(buffer->device_, buffer->data_, buffer->bytes_);
  buffer->~Buffer();
  memory::give_object(memory::Pool::Buffer, buffer);
}

void copy_bytes(const Buffer& to, std::size_t to_first, const Buffer& from, std::size_t from_first,
                std::size_t bytes) {
  const bool is_one_kind =
      is_on_host(to.device()) || is_on_host(from.device()) || to.device().kind == from.device().kind;
  if (!is_one_kind) {
    const Ref<Buffer> between = Buffer::allocate(bytes, Device{});
    copy_bytes(*between, 0, from, from_first, bytes);
    copy_bytes(to, to_first, *between, 0, bytes);
    return;
  }
  const Device device = is_on_host(to.device()) ? from.device() : to.device();
  memory_of(device).copy({to.device(), to.data() + to_first}, {from.device(), from.data() + from_first},
                         bytes);
}

Storage::Storage(Ref<Buffer> buffer) : buffer_(std::move(buffer)), id_(next_id()) {}

Ref<Storage> Storage::create(Ref<Buffer> buffer) {
  void* memory = memory::take_object(memory::Pool::Storage, sizeof(Storage));
  return Ref<Storage>::made(new (memory) Storage(std::move(buffer)));
}

Ref<Storage> Storage::create(const ForeignMemory& memory) {
  Ref<Storage> made = create(Buffer::foreign(memory));
  if (!memory.is_read_only) made->buffer_->shared_storage_ = made->id_;
  return made;
}

void destroy(Storage* storage) {
  storage->~Storage();
  memory::give_object(memory::Pool::Storage, storage);
}

std::byte* Storage::writable_data() {
  if (copies_before_write()) {
    Ref<Buffer> copy = Buffer::allocate(buffer_->bytes(), buffer_->device());
    copy_bytes(*copy, 0, *buffer_, 0, buffer_->bytes());
    buffer_ = std::move(copy);
  }
  ++version_;
  return buffer_->data();
}

LentStorage::LentStorage(Ref<Storage> storage) : storage_(std::move(storage)) {
  const Buffer& now = *storage_->buffer();
  if (now.is_shared_outside() && now.shared_storage_ != storage_->id()) storage_->writable_data();
  buffer_ = storage_->buffer();
  buffer_->shared_storage_ = storage_->id();
  buffer_->lent_.fetch_add(1, std::memory_order_relaxed);
}

LentStorage::~LentStorage() {
  const bool was_last = buffer_->lent_.fetch_sub(1, std::memory_order_relaxed) == 1;
  if (was_last && buffer_->release_ == nullptr) buffer_->shared_storage_ = Buffer::kNotShared;
}

}  // namespace kiln
