// Owns the names of places where tensors live.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln {

struct Device {
  enum class Kind : std::uint8_t { Cpu, Cuda, Guarded };  // the last for tests
  Kind kind = Kind::Cpu;
  std::int8_t index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

// May code of the host touch memory of this device?
inline bool is_on_host(Device device) { return device.kind == Device::Kind::Cpu; }

std::string_view name(Device::Kind kind);  // "cuda"
std::string to_string(Device device);      // "cpu", "cuda:1"
// The device of such a name, here or not; nothing for other texts.
std::optional<Device> device_named(std::string_view text);
Device parse_device(std::string_view text);  // throws OpError (Device) for unknown names or absent devices
Device default_device();
void set_default_device(Device device);

}  // namespace kiln
