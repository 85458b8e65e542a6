// Owns memory: counted buffers, and storages, the identities that views share and writes go through.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tensor/device.h"

namespace kiln {

// Base of everything held by Ref. Counts are atomic: tensors may be used from several threads.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  void retain() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  // True when the last reference went. Who holds the only one needs no locked instruction to find out.
  bool release() const {
    if (refs_.load(std::memory_order_acquire) == 1) return true;
    return refs_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  // The reference of whoever just made the object.
  void retain_first() const { refs_.store(1, std::memory_order_relaxed); }
  std::uint32_t ref_count() const { return refs_.load(std::memory_order_relaxed); }

 private:
  mutable std::atomic<std::uint32_t> refs_{0};
};

// Intrusive pointer. `destroy(T*)`, found by argument-dependent lookup, ends an object.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* object) : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ && object_->release()) destroy(object_);
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }
  // Gives up ownership without releasing; `adopt` takes it back.
  T* leak() { return std::exchange(object_, nullptr); }
  static Ref adopt(T* object) {
    Ref result;
    result.object_ = object;
    return result;
  }
  // Of an object that nobody else has seen yet.
  static Ref made(T* object) {
    object->retain_first();
    return adopt(object);
  }

 private:
  T* object_ = nullptr;
};

// Memory that another library owns. `release(owner)` is called once, by the thread that drops the last
// reference, and must not throw.
struct ForeignMemory {
  std::byte* data;  // aligned as its elements are, of any device
  std::size_t bytes;
  Device device;
  bool is_read_only = false;
  void* owner = nullptr;
  void (*release)(void* owner) = nullptr;
};

// One block of memory of a device, 64-byte aligned where it is Kiln's own. What is known of it is kept apart,
// by the host: a device may have memory that the host cannot touch.
class Buffer final : public RefCounted {
 public:
  // Uninitialized. Throws OpError (OutOfMemory) that says how much was asked for and how much is in use.
  static Ref<Buffer> allocate(std::size_t bytes, Device device);
  // One that says it has so many bytes, of which there are none: for tensors whose elements nobody reads or
  // writes. Its data is null.
  static Ref<Buffer> without_memory(std::size_t bytes, Device device);
  // Nothing is copied. The memory does not count as Kiln's own (`memory_use`).
  static Ref<Buffer> foreign(const ForeignMemory& memory);

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  std::uint64_t id() const { return id_; }  // unique in this process, as addresses are not

  // Does another library see this memory? Then it is neither reused for other elements nor exchanged.
  bool is_shared_outside() const { return shared_storage_ != kNotShared; }
  // May the memory be reused, since the caller's reference is the only one to it?
  bool has_one_owner() const { return ref_count() == 1 && !is_shared_outside(); }

 private:
  friend void destroy(Buffer* buffer);
  friend class Storage;
  friend class LentStorage;
  static constexpr std::uint64_t kNotShared = 0, kReadOnly = ~std::uint64_t{0};
  // Copies bytes from one buffer to another, of one device or of one and the host.
  void copy_bytes(const Buffer& to, std::size_t to_first, const Buffer& from, std::size_t from_first,
                  std::size_t bytes);
  Buffer(std::byte* data, std::size_t bytes, Device device);
  std::byte* data_;
  std::size_t bytes_;
  std::uint64_t id_;
  // The storage whose writes another library is to see; those of every other one go to a copy.
  std::uint64_t shared_storage_ = kNotShared;
  std::atomic<std::uint32_t> lent_{0};  // references that other libraries hold, among all
  Device device_;
  void* owner_ = nullptr;
  void (*release_)(void* owner) = nullptr;  // of foreign memory
};
void destroy(Buffer* buffer);
// Copies bytes from one buffer to another, of one device or of one and the host.
void copy_bytes(const Buffer& to, std::size_t to_first, const Buffer& from, std::size_t from_first,
                std::size_t bytes);

// What aliasing tensors share. A write replaces the buffer first when someone else holds it (a value saved
// for backward): views of the storage see the write, the saved value keeps what it was.
class Storage final : public RefCounted {
 public:
  static Ref<Storage> create(Ref<Buffer> buffer);
  // Of foreign memory: its owner sees the writes through this storage. Where it is read-only, the first write
  // goes to a copy.
  static Ref<Storage> create(const ForeignMemory& memory);

  const Ref<Buffer>& buffer() const { return buffer_; }
  std::byte* data() const { return buffer_->data(); }
  // Memory that may be written: copies it when the buffer is also held elsewhere. Counts a version.
  std::byte* writable_data();
  // Would `writable_data` copy it?
  bool copies_before_write() const {
    const Buffer& memory = *buffer_;
    if (memory.is_shared_outside() && memory.shared_storage_ != id_) return true;
    return memory.ref_count() > 1 + memory.lent_.load(std::memory_order_relaxed);
  }
  // May the storage take the buffer of `other` instead of its elements? Not where another library would no
  // longer see its writes.
  bool may_take_memory_of(const Storage& other) const {
    return !buffer_->is_shared_outside() && !other.buffer_->is_shared_outside();
  }
  void replace(Ref<Buffer> buffer) {
    buffer_ = std::move(buffer);
    ++version_;
  }
  std::size_t bytes() const { return buffer_->bytes(); }
  Device device() const { return buffer_->device(); }
  std::uint64_t id() const { return id_; }            // unique in this process
  std::uint32_t version() const { return version_; }  // number of writes so far

 private:
  friend void destroy(Storage* storage);
  explicit Storage(Ref<Buffer> buffer);
  Ref<Buffer> buffer_;
  std::uint64_t id_;
  std::uint32_t version_ = 0;
};
void destroy(Storage* storage);

// Keeps the memory of a storage for another library, which sees what is written through the storage and may
// write itself. A storage whose memory is shared on behalf of another one gets memory of its own first.
class LentStorage {
 public:
  explicit LentStorage(Ref<Storage> storage);
  ~LentStorage();
  LentStorage(const LentStorage&) = delete;
  LentStorage& operator=(const LentStorage&) = delete;
  std::byte* data() const { return buffer_->data(); }

 private:
  Ref<Storage> storage_;
  Ref<Buffer> buffer_;  // lives on when the storage has other memory by then
};

// Bytes of live tensor memory of a device, now and at most since `reset_peak`; and a limit after which
// allocation fails (default: what the device has). Each throws OpError (Device) for a device that is not
// here.
struct MemoryUse {
  std::size_t live_bytes;
  std::size_t peak_bytes;
  std::size_t live_buffers;
};
MemoryUse memory_use(Device device);
void reset_peak(Device device);
void set_memory_limit(Device device, std::size_t bytes);

}  // namespace kiln
