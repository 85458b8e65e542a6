#include "tensor/device.h"

#include <charconv>

#include "tensor/error.h"

namespace kiln {
namespace {

thread_local constinit Device current_default{};

struct NamedKind {
  std::string_view name;
  Device::Kind kind;
};
constexpr NamedKind kKinds[] = {{"cpu", Device::Kind::Cpu}, {"cuda", Device::Kind::Cuda}};

}  // namespace

std::string to_string(Device device) {
  if (device.kind == Device::Kind::Cpu) return "cpu";
  return device.index == 0 ? "cuda" : "cuda:" + std::to_string(device.index);
}

Device parse_device(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind_name = text.substr(0, colon);
  Device device;
  bool known = false;
  for (const NamedKind& kind : kKinds) {
    if (kind.name != kind_name) continue;
    device.kind = kind.kind;
    known = true;
  }
  if (known && colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), device.index);
    known = error == std::errc() && end == digits.data() + digits.size() && device.index >= 0;
  }
  if (!known) {
    throw OpError(ErrorKind::Device, "unknown device \"" + std::string(text) + "\"", {},
                  "devices are \"cpu\" and \"cuda\", \"cuda:1\", …");
  }
  if (device.kind == Device::Kind::Cpu && device.index == 0) return device;
  throw OpError(ErrorKind::Device, "there is no device \"" + std::string(text) + "\" here", {},
                "this machine has: cpu");
}

Device default_device() { return current_default; }
void set_default_device(Device device) { current_default = device; }

}  // namespace kiln
