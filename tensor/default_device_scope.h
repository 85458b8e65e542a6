// Owns the scope in which new tensors are made on another device.
#pragma once

#include "tensor/device.h"

namespace kiln {

// Makes a device the default of this thread for its life.
class DefaultDeviceScope {
 public:
  explicit DefaultDeviceScope(Device device) : before_(default_device()) { set_default_device(device); }
  ~DefaultDeviceScope() { set_default_device(before_); }
  DefaultDeviceScope(const DefaultDeviceScope&) = delete;
  DefaultDeviceScope& operator=(const DefaultDeviceScope&) = delete;

 private:
  Device before_;
};

}  // namespace kiln
