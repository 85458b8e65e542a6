// Owns the names of places where tensors live.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kiln {

struct Device {
  enum class Kind : std::uint8_t { Cpu, Cuda };
  Kind kind = Kind::Cpu;
  std::int8_t index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

std::string to_string(Device device);        // "cpu", "cuda:1"
Device parse_device(std::string_view text);  // throws OpError (Device) for unknown names or absent devices
Device default_device();
void set_default_device(Device device);

}  // namespace kiln
