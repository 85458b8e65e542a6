// The targets that there are, by kind of device.
#include <array>
#include <atomic>

#include "jit/cpu/target.h"
#include "jit/cuda/target.h"
#include "jit/passes/target.h"

namespace kiln::jit {
namespace {

std::atomic<const Target*>& target_at(Device::Kind kind) {
  static std::array<std::atomic<const Target*>, 3> targets{
      &cpu_target(), &cuda_target(),
      nullptr,  // Guarded
  };
  return targets[static_cast<std::size_t>(kind)];
}

}  // namespace

const Target* target_of(Device device) { return target_at(device.kind).load(std::memory_order_acquire); }

ReplacedTarget::ReplacedTarget(Device::Kind kind, const Target& target)
    : kind_(kind), before_(target_at(kind).exchange(&target)) {}
ReplacedTarget::~ReplacedTarget() { target_at(kind_).store(before_); }

}  // namespace kiln::jit
