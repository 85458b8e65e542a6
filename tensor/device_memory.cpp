#include "tensor/device_memory.h"

#include "tensor/backend.h"
#include "tensor/cuda/memory.h"
#include "tensor/cuda/refusal.h"
#include "tensor/error.h"
#include "tensor/guarded/guarded.h"
#include "tensor/memory.h"

namespace kiln {

const DeviceMemory* const kDeviceMemories[] = {&memory::kOfHost, &cuda::kMemory, &guarded::kMemory};

void refuse_absent(Device device) {
  if (device.kind == Device::Kind::Cuda) cuda::refuse(device);
  std::string here;
  for (const Device each : devices()) here += (here.empty() ? "" : ", ") + to_string(each);
  throw OpError(ErrorKind::Device, "there is no device \"" + to_string(device) + "\" here", {},
                "this machine has: " + here);
}

std::size_t live_tensor_bytes() {
  std::size_t bytes = 0;
  for (const DeviceMemory* each : kDeviceMemories) bytes += each->live_bytes();
  return bytes;
}

MemoryUse memory_use(Device device) { return memory_of(device).use(device); }
void reset_peak(Device device) { memory_of(device).reset_peak(device); }
void set_memory_limit(Device device, std::size_t bytes) { memory_of(device).set_limit(device, bytes); }

}  // namespace kiln
