#include "ort/library/tensors.h"

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace kiln::ort {
namespace {

constexpr std::int32_t kCpu = 1;
constexpr std::size_t kAlignment = 64;

struct Held {
  DLManagedTensor tensor{};
  std::vector<std::int64_t> sizes;
  void* memory = nullptr;  // its own; null: it is lent
  ~Held() { std::free(memory); }
};

std::size_t byte_count(const DLTensor& x) {
  std::size_t count = x.dtype.bits / 8;
  for (int i = 0; i < x.ndim; ++i) count *= static_cast<std::size_t>(x.shape[i]);
  return count;
}

bool is_row_by_row(const DLTensor& x) {
  std::int64_t step = 1;
  for (int i = x.ndim - 1; x.strides != nullptr && i >= 0; --i) {
    if (x.shape[i] != 1 && x.strides[i] != step) return false;
    step *= x.shape[i];
  }
  return true;
}

DLManagedTensor* managed(std::unique_ptr<Held> held, void* data, const WireTensor& given) {
  held->sizes = given.sizes;
  DLTensor& x = held->tensor.dl_tensor;
  x = {data,
       {kCpu, 0},
       static_cast<std::int32_t>(held->sizes.size()),
       {given.code, given.bits, 1},
       held->sizes.data(),
       nullptr,
       0};
  held->tensor.manager_ctx = held.get();
  held->tensor.deleter = [](DLManagedTensor* self) { delete static_cast<Held*>(self->manager_ctx); };
  return &held.release()->tensor;
}

}  // namespace

WireTensor to_wire(const DLTensor& lent) {
  if (lent.device.device_type != kCpu) throw std::runtime_error("a tensor is not on the CPU");
  if (!is_row_by_row(lent)) throw std::runtime_error("a tensor is not row by row");
  WireTensor made{lent.dtype.code, lent.dtype.bits, {lent.shape, lent.shape + lent.ndim}, {}};
  made.elements.assign(static_cast<const char*>(lent.data) + lent.byte_offset, byte_count(lent));
  return made;
}

DLManagedTensor* to_dlpack(const WireTensor& given) {
  auto held = std::make_unique<Held>();
  const std::size_t bytes = (given.elements.size() + kAlignment) / kAlignment * kAlignment;
  held->memory = std::aligned_alloc(kAlignment, bytes);
  if (held->memory == nullptr) throw std::bad_alloc();
  std::memcpy(held->memory, given.elements.data(), given.elements.size());
  void* const memory = held->memory;
  return managed(std::move(held), memory, given);
}

DLManagedTensor* write_over(const DLTensor& lent, const WireTensor& given) {
  if (byte_count(lent) != given.elements.size() || lent.dtype.code != given.code ||
      lent.dtype.bits != given.bits)
    throw std::runtime_error(
        "alias_input says that a result takes the memory of an argument of another type");
  char* const data = static_cast<char*>(lent.data) + lent.byte_offset;
  std::memcpy(data, given.elements.data(), given.elements.size());
  return managed(std::make_unique<Held>(), data, given);
}

}  // namespace kiln::ort
