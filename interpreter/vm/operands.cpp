// Values of the language as operands of ops: tensors as they are, numbers as tensors without dimensions.
#include <array>

#include <fmt/format.h>

#include "interpreter/values/complex_number.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/followed_numbers.h"
#include "tensor/error.h"

namespace kiln::interp {
namespace {

// Nothing where the number does not follow sizes.
std::optional<kiln::Dim> symbol_of(const Value& number) {
  if (followed_numbers == nullptr) [[likely]]
    return std::nullopt;
  const auto size = followed_numbers->operand_at(number);
  return size && !size->is_known() ? size : std::nullopt;
}

}  // namespace

kiln::Tensor number_as_operand(const Value& number) {
  if (number.is(Tag::Int)) return kiln::Tensor::number(number.as_int());
  if (number.is(Tag::Float)) return kiln::Tensor::number(number.as_float());
  return kiln::Tensor::number(number.as_bool());
}

kiln::Tensor to_operand(const Value& value) {
  switch (value.tag()) {
    case Tag::Tensor:
      return value.as_tensor();
    case Tag::Int:
      if (const auto symbol = symbol_of(value)) return kiln::Tensor::symbol(*symbol);
      return number_as_operand(value);
    case Tag::Bool:
    case Tag::Float:
      return number_as_operand(value);
    case Tag::Complex:
      return kiln::Tensor::number(complex_of(value));
    default:
      break;
  }
  throw kiln::OpError(kiln::ErrorKind::Type,
                      fmt::format("a tensor or a number is needed, got {}", describe(value)), {},
                      host::items_of(value) ? "make a tensor of it with `tensor(…)`" : "");
}

namespace {

// A cache of one slot for each remainder of a number's bits.
struct NumberCache {
  struct Slot {
    Tag tag = Tag::None;
    std::int64_t bits = 0;
    kiln::Tensor number;
  };
  std::array<Slot, 64> slots;
  std::size_t used = 0;
};
NumberCache& number_cache() {
  thread_local NumberCache* const cache = new NumberCache();  // outlives what it was made with
  return *cache;
}

}  // namespace

kiln::Tensor number_operand(const Value& value) {
  if (!value.is_number() || followed_numbers != nullptr) return to_operand(value);
  NumberCache& cache = number_cache();
  const std::int64_t bits = value.as_int();
  NumberCache::Slot& slot = cache.slots[(static_cast<std::uint64_t>(bits) * 0x9e3779b97f4a7c15ULL) >> 58U];
  if (slot.tag != value.tag() || slot.bits != bits) {
    cache.used += slot.number ? 0 : 1;
    slot = {value.tag(), bits, to_operand(value)};
  }
  return slot.number;
}

std::size_t cached_numbers() { return number_cache().used; }

}  // namespace kiln::interp
