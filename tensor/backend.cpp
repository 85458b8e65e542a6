#include "tensor/backend.h"

#include <array>

#include "tensor/cpu/backend.h"
#include "tensor/cuda/backend.h"
#include "tensor/device_memory.h"
#include "tensor/guarded/backend.h"
#include "tensor/guarded/guarded.h"

namespace kiln {
namespace {

constexpr std::size_t kKinds = 8;
constexpr std::size_t kMostOfKind = 16;

// The devices of this machine, by kind and index: one line for each kind, but for cards, which are looked for
// when one is named.
std::array<std::array<Backend*, kMostOfKind>, kKinds>& backends() {
  static std::array<std::array<Backend*, kMostOfKind>, kKinds> all = [] {
    std::array<std::array<Backend*, kMostOfKind>, kKinds> found{};
    found[static_cast<std::size_t>(Device::Kind::Cpu)][0] = &cpu::backend();
    found[static_cast<std::size_t>(Device::Kind::Guarded)][0] = &guarded::backend();
    return found;
  }();
  return all;
}

Backend*& place_of(Device device) {
  const auto index = static_cast<std::size_t>(device.index);
  if (device.index < 0 || index >= kMostOfKind)
    throw InternalError("no device has the number of " + to_string(device));
  return backends()[static_cast<std::size_t>(device.kind)][index];
}

// Those of cards are known where there is none, so that graphs for one can be looked at.
const Kernels& kernels_of(Device device) {
  const bool is_absent_card = device.kind == Device::Kind::Cuda && place_of(device) == nullptr;
  return is_absent_card ? cuda::column() : backend_of(device).kernels();
}

}  // namespace

void Kernels::add(const Op& op, const Kernel& kernel) {
  Kernel& place = kernels_[static_cast<std::size_t>(op.id)];
  if (place || !place.missing.empty())
    throw InternalError("op '" + std::string(op.name()) + "' has two kernels on one device");
  if ((kernel.count == nullptr) != (kernel.run_counted == nullptr) ||
      (op.has(kDataDependent) && !kernel.count && !kernel.give))
    throw InternalError("op '" + std::string(op.name()) +
                        "' must count its results where their sizes depend on data");
  if (kernel.takes != nullptr && op.decompose == nullptr)
    throw InternalError("op '" + std::string(op.name()) + "' has no body for what its kernel does not take");
  place = kernel;
}

void Kernels::add(std::string_view name, const Kernel& kernel) { add(OpTable::get().at(name), kernel); }

void Kernels::none(std::string_view name, std::string_view reason) {
  kernels_[static_cast<std::size_t>(OpTable::get().at(name).id)].missing = reason;
}

Backend& backend_of(Device device) {
  if (Backend* const backend = place_of(device)) return *backend;
  refuse_absent(device);
}

bool is_here(Device device) {
  if (device == Device{}) return true;  // before any table of kernels is made
  const auto index = static_cast<std::size_t>(device.index);
  if (device.index < 0 || index >= kMostOfKind) return false;
  Backend*& place = backends()[static_cast<std::size_t>(device.kind)][index];
  if (place == nullptr && device.kind == Device::Kind::Cuda) place = cuda::backend_of(device);
  return place != nullptr && (device.kind != Device::Kind::Guarded || guarded::is_here());
}

std::vector<Device> devices() {
  std::vector<Device> found;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    for (std::size_t index = 0; index < kMostOfKind; ++index) {
      const Device device{static_cast<Device::Kind>(kind), static_cast<std::int8_t>(index)};
      if (is_here(device)) found.push_back(device);
    }
  }
  return found;
}

void synchronize_devices() {
  for (const Device each : devices()) {
    if (is_on_host(each)) continue;
    Backend& backend = backend_of(each);
    backend.synchronize(backend.stream());
  }
}

void set_backend(Device device, Backend* backend) { place_of(device) = backend; }

bool has_kernel(const Op& op, Device device) {
  if (!OpTable::get().has(op)) return op.call != nullptr;
  return static_cast<bool>(kernels_of(device).of(op));
}

bool has_kernel(const Op& op, Inputs inputs) {
  for (const Tensor& each : inputs)
    if (each && !each.is_number()) return has_kernel(op, each.device());
  return has_kernel(op);
}

bool has_kernel_for(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Kernel& kernel = kernels_of(inputs[0].device()).of(op);
  return kernel && (kernel.takes == nullptr || kernel.takes(op, attrs, inputs));
}

bool is_direct(const Op& op, Device device) {
  return OpTable::get().has(op) && backend_of(device).kernels().of(op).is_direct;
}
std::string_view why_on_host(const Op& op, Device device) {
  return OpTable::get().has(op) ? backend_of(device).kernels().of(op).on_host : std::string_view();
}

}  // namespace kiln
