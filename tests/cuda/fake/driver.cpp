// The fake driver: start, errors, cards and contexts.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/cuda/fake/card.h"
#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/settings.h"
#include "tests/cuda/fake/state.h"

namespace kiln::cuda {
namespace {

using namespace kiln::fake;

struct NamedNumber {
  int value;
  std::string_view name;
};

// All of CUDA's numbers that the product knows; the names of errors begin with "CUDA_".
constexpr NamedNumber kNumbers[] = {
#define KILN_CONSTANT(name, value, theirs) {value, #theirs},
#include "tensor/cuda/constants.def"
};

constexpr NamedNumber kTexts[] = {
    {kOutOfMemory, "out of memory"},
    {kNoDevice, "no CUDA-capable device is detected"},
    {kIllegalAddress, "an illegal memory access was encountered"},
    {kUnknownError, "unknown error"},
};

const char* error_name(Result error) {
  for (const NamedNumber& each : kNumbers) {
    if (each.value == error && each.name.starts_with("CUDA_")) return each.name.data();
  }
  return nullptr;
}

const char* error_text(Result error) {
  for (const NamedNumber& each : kTexts) {
    if (each.value == error) return each.name.data();
  }
  return error_name(error);
}

Result give_text(const char* text, const char** place) {
  if (place == nullptr) return kInvalidValue;
  *place = text;
  return text == nullptr ? kInvalidValue : kSuccess;
}

void make_cards() {
  const auto count = number_setting("KILN_FAKE_CARDS", 1);
  const auto bytes = number_setting("KILN_FAKE_MEMORY", std::int64_t{1} << 30);
  for (int device = 0; device < count; ++device) {
    auto card = std::make_unique<FakeCard>();
    card->bytes = static_cast<std::size_t>(bytes);
    card->context.device = card->pool.device = device;
    state().cards.push_back(std::move(card));
  }
}

// An entry point that asks something of one card.
template <class Body>
Result ask_card(std::string_view entry, const void* place, int device, const Body& body) {
  return enter(entry, Needs::Initialized, [&] {
    FakeCard* const card = card_of(device);
    if (card == nullptr) return kInvalidDevice;
    if (place == nullptr) return kInvalidValue;
    return static_cast<int>(body(*card));
  });
}

}  // namespace

extern "C" {

Result cuInit(unsigned flags) {
  const std::lock_guard lock(state().mutex);
  if (const Result set = count_call("cuInit"); set != kSuccess) return set;
  if (flags != 0) return kInvalidValue;
  if (state().is_initialized) return kSuccess;
  make_cards();
  if (state().cards.empty()) return kNoDevice;
  state().is_initialized = true;
  return kSuccess;
}

Result cuDriverGetVersion(int* version) {
  return enter("cuDriverGetVersion", Needs::Nothing, [&] {
    if (version == nullptr) return kInvalidValue;
    *version = static_cast<int>(number_setting("KILN_FAKE_DRIVER_VERSION", 13000));
    return kSuccess;
  });
}

Result cuGetErrorName(Result error, const char** name) {
  return enter("cuGetErrorName", Needs::Nothing, [&] { return give_text(error_name(error), name); });
}
Result cuGetErrorString(Result error, const char** text) {
  return enter("cuGetErrorString", Needs::Nothing, [&] { return give_text(error_text(error), text); });
}

// ---- Cards -----------------------------------------------------------------------------------------------

Result cuDeviceGetCount(int* count) {
  return enter("cuDeviceGetCount", Needs::Initialized, [&] {
    if (count == nullptr) return kInvalidValue;
    *count = static_cast<int>(state().cards.size());
    return kSuccess;
  });
}

Result cuDeviceGet(int* device, int ordinal) {
  return ask_card("cuDeviceGet", device, ordinal, [&](FakeCard&) {
    *device = ordinal;
    return kSuccess;
  });
}

Result cuDeviceGetName(char* name, int length, int device) {
  return ask_card("cuDeviceGetName", name, device, [&](FakeCard&) {
    if (length <= 0) return kInvalidValue;
    const std::string text = text_setting("KILN_FAKE_CARD", "Fake card");
    const auto most = std::min(text.size(), static_cast<std::size_t>(length - 1));
    std::memcpy(name, text.data(), most);
    name[most] = '\0';
    return kSuccess;
  });
}

Result cuDeviceGetUuid_v2(Uuid* uuid, int device) {
  return ask_card("cuDeviceGetUuid_v2", uuid, device, [&](FakeCard&) {
    *uuid = Uuid{};
    uuid->bytes[0] = static_cast<char>(device + 1);
    return kSuccess;
  });
}

Result cuDeviceGetAttribute(int* value, int attribute, int device) {
  return ask_card("cuDeviceGetAttribute", value, device,
                  [&](FakeCard&) { return card_attribute(attribute, *value) ? kSuccess : kInvalidValue; });
}

Result cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  return ask_card("cuDeviceTotalMem_v2", bytes, device, [&](FakeCard& card) {
    *bytes = card.bytes;
    return kSuccess;
  });
}

// ---- Contexts --------------------------------------------------------------------------------------------

Result cuDevicePrimaryCtxRetain(ContextHandle* context, int device) {
  return ask_card("cuDevicePrimaryCtxRetain", context, device, [&](FakeCard& card) {
    ++card.context.users;
    *context = &card.context;
    return kSuccess;
  });
}

Result cuDevicePrimaryCtxRelease_v2(int device) {
  return ask_card("cuDevicePrimaryCtxRelease_v2", &device, device, [&](FakeCard& card) {
    if (card.context.users == 0) return kInvalidContext;
    --card.context.users;
    return kSuccess;
  });
}

Result cuCtxSetCurrent(ContextHandle context) {
  return enter("cuCtxSetCurrent", Needs::Initialized, [&] {
    if (context != nullptr && !is_context(context)) return kInvalidContext;
    current_context() = context;
    return kSuccess;
  });
}

Result cuCtxGetCurrent(ContextHandle* context) {
  return enter("cuCtxGetCurrent", Needs::Initialized, [&] {
    if (context == nullptr) return kInvalidValue;
    *context = current_context();
    return kSuccess;
  });
}

}  // extern "C"
}  // namespace kiln::cuda
