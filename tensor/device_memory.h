// Owns what the memory of a device is to the rest of Kiln: where it comes from, how bytes get to it and back,
// and how much of it is in use. A device is one row of the table in device_memory.cpp.
#pragma once

#include <cstddef>

#include "tensor/storage.h"

namespace kiln {

struct DeviceMemory {
  // 64-byte aligned and uninitialized; never null, also for no bytes. Throws OpError (OutOfMemory) that says
  // how much was asked for and how much is in use.
  std::byte* (*allocate)(std::size_t bytes);
  // After all work on the memory is done that was begun. `bytes` as allocated.
  void (*free)(std::byte* data, std::size_t bytes);
  // Between two places of the device, or from memory of the host, or to it. It is done when this returns.
  void (*copy)(std::byte* to, const std::byte* from, std::size_t bytes);
  MemoryUse (*use)();
  void (*reset_peak)();
  void (*set_limit)(std::size_t bytes);
};

// By Device::Kind; null for devices that are not here.
extern const DeviceMemory* const kDeviceMemories[];
// Throws OpError (Device) that says why the device is not here, and the way out. `is_here` (tensor/backend.h)
// says which devices are.
[[noreturn]] void refuse_absent(Device device);

// Throws OpError (Device) for a device that is not here.
inline const DeviceMemory& memory_of(Device device) {
  const DeviceMemory* const memory = kDeviceMemories[static_cast<std::size_t>(device.kind)];
  if (memory == nullptr) [[unlikely]]
    refuse_absent(device);
  return *memory;
}

// Bytes of live tensors on all devices.
std::size_t live_tensor_bytes();

}  // namespace kiln
