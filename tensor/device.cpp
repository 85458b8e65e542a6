#include "tensor/device.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "tensor/backend.h"
#include "tensor/device_memory.h"
#include "tensor/error.h"

namespace kiln {
namespace {

thread_local constinit Device current_default{};

struct NamedKind {
  std::string_view name;
  Device::Kind kind;
};
constexpr NamedKind kKinds[] = {
    {"cpu", Device::Kind::Cpu}, {"cuda", Device::Kind::Cuda}, {"guarded", Device::Kind::Guarded}};

}  // namespace

std::string_view name(Device::Kind kind) { return kKinds[static_cast<std::size_t>(kind)].name; }

std::string to_string(Device device) {
  const std::string kind(name(device.kind));
  return device.index == 0 ? kind : kind + ":" + std::to_string(device.index);
}

std::optional<Device> device_named(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind_name = text.substr(0, colon);
  const auto* const kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                        [&](const NamedKind& each) { return each.name == kind_name; });
  if (kind == std::end(kKinds)) return std::nullopt;
  Device device{kind->kind, 0};
  if (colon == std::string_view::npos) return device;
  const std::string_view digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), device.index);
  if (error != std::errc() || end != digits.data() + digits.size() || device.index < 0) return std::nullopt;
  return device;
}

Device parse_device(std::string_view text) {
  const std::optional<Device> device = device_named(text);
  if (device && is_here(*device)) return *device;
  if (!device || device->kind == Device::Kind::Guarded) {
    throw OpError(ErrorKind::Device, "unknown device \"" + std::string(text) + "\"", {},
                  "devices are \"cpu\" and \"cuda\", \"cuda:1\", …");
  }
  refuse_absent(*device);
}

Device default_device() { return current_default; }
void set_default_device(Device device) { current_default = device; }

}  // namespace kiln
