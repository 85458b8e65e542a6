// Owns what the memory of a device is to the rest of Kiln: where it comes from, how bytes get to it and back,
// and how much of it is in use. A device is one row of the table in device_memory.cpp.
#pragma once

#include <cstddef>
#include <string>

#include "tensor/storage.h"

namespace kiln {

struct DevicePlace {
  Device device;
  std::byte* data;
};

// The memory of all devices of one kind.
struct DeviceMemory {
  // 64-byte aligned and uninitialized; never null, also for no bytes. Throws OpError (OutOfMemory) that says
  // how much was asked for and how much is in use.
  std::byte* (*allocate)(Device device, std::size_t bytes);
  // After all work on the memory is done that was begun. `bytes` as allocated. Never throws.
  void (*free)(Device device, std::byte* data, std::size_t bytes);
  // Between two places of devices of this kind, or from memory of the host, or to it. What is copied is as of
  // the call, and what is copied to the host is there when this returns.
  void (*copy)(DevicePlace to, DevicePlace from, std::size_t bytes);
  MemoryUse (*use)(Device device);
  std::size_t (*live_bytes)();  // of all devices of the kind
  void (*reset_peak)(Device device);
  void (*set_limit)(Device device, std::size_t bytes);
  // What more a person may ask: what is kept for reuse, how much there is. May be empty.
  std::string (*details)(Device device);
};

// By Device::Kind.
extern const DeviceMemory* const kDeviceMemories[];
// Throws OpError (Device) that says why the device is not here, and the way out. `is_here` (tensor/backend.h)
// says which devices are.
[[noreturn]] void refuse_absent(Device device);

inline const DeviceMemory& memory_of(Device device) {
  return *kDeviceMemories[static_cast<std::size_t>(device.kind)];
}

// Bytes of live tensors on all devices.
std::size_t live_tensor_bytes();

}  // namespace kiln
