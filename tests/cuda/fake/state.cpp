#include "tests/cuda/fake/state.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "tests/cuda/fake/settings.h"

namespace kiln::fake {
namespace {

constexpr std::size_t kAlignment = 512;  // of what the driver allocates
constexpr std::byte kNeverWritten{0xA5};
constexpr std::byte kFreed{0xDD};

}  // namespace

State& state() {
  static auto* const all = new State;  // never destroyed: handles may be released late
  return *all;
}

ContextData*& current_context() {
  thread_local ContextData* current = nullptr;
  return current;
}

bool is_sticky(Result error) {
  constexpr Result kSticky[] = {kUncorrectableMemory, kIllegalAddress, kLaunchTimeout, kAssert,
                                kMisalignedAddress,   kLaunchFailed};
  return std::find(std::begin(kSticky), std::end(kSticky), error) != std::end(kSticky);
}

Result admit(std::string_view entry, Needs needs) {
  const Result set = count_call(entry);
  if (needs == Needs::Nothing) return set;
  State& all = state();
  if (!all.is_initialized && entry != "cuInit") return kNotInitialized;
  if (all.sticky != kSuccess) return all.sticky;
  if (is_sticky(set)) all.sticky = set;
  if (set != kSuccess) return set;
  if (needs == Needs::Context && !is_context(current_context())) return kInvalidContext;
  return kSuccess;
}

FakeCard* card_of(int device) {
  State& all = state();
  if (device < 0 || static_cast<std::size_t>(device) >= all.cards.size()) return nullptr;
  return all.cards[static_cast<std::size_t>(device)].get();
}

bool is_stream(StreamHandle stream) { return stream == nullptr || state().streams.contains(stream); }
bool is_event(EventHandle event) { return state().events.contains(event); }

bool is_function(FunctionHandle function) {
  for (const auto& [handle, module] : state().modules) {
    for (const auto& each : module->functions) {
      if (each.get() == function) return true;
    }
  }
  return false;
}

bool is_context(ContextHandle context) {
  if (context == nullptr) return false;
  const FakeCard* const card = card_of(context->device);
  return card != nullptr && &card->context == context && context->users > 0;
}

bool is_device_memory(Address address, std::size_t bytes) {
  const auto& blocks = state().blocks;
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return false;
  const auto& [begin, block] = *--after;
  const std::size_t offset = address - begin;
  return offset <= block.bytes && bytes <= block.bytes - offset;
}

Result allocate(Address* address, std::size_t bytes) {
  if (address == nullptr || bytes == 0) return kInvalidValue;
  FakeCard& card = *card_of(current_context()->device);
  if (bytes > card.bytes - card.used) return kOutOfMemory;
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes + kAlignment]);
  if (memory == nullptr) return kOutOfMemory;  // a card may be set to be larger than the machine
  Block block{bytes, current_context()->device, std::move(memory)};
  std::memset(block.memory.get(), static_cast<int>(kNeverWritten), bytes + kAlignment);
  const auto first = reinterpret_cast<Address>(block.memory.get());
  *address = (first + kAlignment - 1) / kAlignment * kAlignment;
  card.used += bytes;
  card.most_used = std::max(card.most_used, card.used);
  state().blocks.emplace(*address, std::move(block));
  return kSuccess;
}

Result release(Address address) {
  if (address == 0) return kSuccess;
  const auto place = state().blocks.find(address);
  if (place == state().blocks.end()) return kInvalidValue;
  Block& block = place->second;
  std::memset(block.memory.get(), static_cast<int>(kFreed), block.bytes + kAlignment);
  card_of(block.device)->used -= block.bytes;
  state().blocks.erase(place);
  return kSuccess;
}

}  // namespace kiln::fake
