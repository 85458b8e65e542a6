// Owns kernels as all targets have them: code in memory, and what runs it over tensors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/loops/lower.h"
#include "jit/loops/schedule.h"

namespace kiln::jit {

// A kernel as a target runs it. The target may have split nests, where each of the parts runs another way.
struct ScheduledKernel {
  Lowered lowered;
  Schedule schedule;
};

// What a target asks of a kernel beside its nests.
struct KernelUse {
  std::vector<bool> read_later;  // by output: does the graph read it?
  SymbolValues hints;            // the sizes that the kernel is made for
};

// The code of several nests in memory, ready to be called.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  // The function of a nest, by its number in the call of Target::emit. Throws InternalError when there is
  // none.
  virtual void* function(std::size_t nest) const = 0;
  virtual std::size_t bytes() const = 0;
};
using Codes = std::vector<std::shared_ptr<const LoadedCode>>;

// What a target launches.
struct KernelParts {
  ScheduledKernel kernel;
  std::vector<void*> functions;       // by pass; null before they are compiled
  std::shared_ptr<const Codes> code;  // owns their memory; null before they are compiled
  std::vector<std::string> symbols;   // whose values each call gives
  Device device;
};

class Kernel {
 public:
  explicit Kernel(KernelParts parts) : parts_(std::move(parts)) {}
  virtual ~Kernel() = default;

  const Lowered& lowered() const { return parts_.kernel.lowered; }
  const Schedule& schedule() const { return parts_.kernel.schedule; }
  const KernelParts& parts() const { return parts_; }
  // One new tensor per output. `symbols` are the values of the names given. Throws OpError where an op is not
  // defined for an element.
  virtual Tensors run(Inputs inputs, const Dims& symbols) const = 0;
  std::vector<TensorType> types(const Dims& symbols) const;

 protected:
  SymbolValues named(const Dims& symbols) const;
  // Raises the error of the instruction with the lowest bit.
  [[noreturn]] static void fail(const LoopNest& nest, std::uint64_t failed);

 private:
  KernelParts parts_;
};

}  // namespace kiln::jit
