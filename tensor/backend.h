// Owns what a device gives beside memory: streams, and for each row of the op table a kernel or the reason
// why it has none. A device is a folder of the tensor room and one line in backend.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/op.h"

namespace kiln {

// Work of one device that is done in order. What is given to a stream may be done later than the call that
// gives it; the CPU does it within the call.
struct Stream {
  Device device;
  void* handle = nullptr;  // of the device's own library
};

// ---- Kernels ---------------------------------------------------------------------------------------------

// Computes into tensors that are there already. They have the types of the row's `infer`, are contiguous, and
// share no element with the inputs or each other, unless the kernel says more below. All operands are on the
// stream's device, but for numbers, which the host has. Throws OpError for elements that the op refuses.
using Outputs = std::span<const Tensor>;
using KernelFn = void (*)(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream& stream);

// Where sizes depend on data, the kernel counts first.
struct CountedOutputs {
  std::vector<TensorType> types;  // complete, where `infer` gives -1
  Tensors work;                   // what counting found on its way; `run_counted` sees it after the inputs
};
using CountFn = CountedOutputs (*)(const Op& op, const Attrs& attrs, Inputs inputs, Stream& stream);

// Gives the results in memory of their own: they come from elsewhere, as what other processes send does.
using GiveFn = Tensors (*)(const Op& op, const Attrs& attrs, Inputs inputs, Stream& stream);

// Does a kernel apply to these operands? Else the row's body runs. Where `has_kernel_for` is asked of the row
// it is decided by types and attributes.
using TakesFn = bool (*)(const Op& op, const Attrs& attrs, Inputs inputs);

// How one device computes one row.
struct Kernel {
  KernelFn run = nullptr;
  TakesFn takes = nullptr;  // of rows with a body; null: always
  // Where `infer` gives -1: what counts the elements of the results, and what computes them then.
  CountFn count = nullptr;
  KernelFn run_counted = nullptr;
  GiveFn give = nullptr;  // in place of all these
  // May an output have any layout without overlap and any dtype that the result may be cast to, and be just
  // the elements of an input? In-place forms then compute straight into their target. Where an elementwise
  // row may refuse elements, inputs may share others with the output too, which is left alone if it does.
  bool is_direct = false;
  std::string_view missing{};  // why the row does not run
  std::string_view on_host{};  // why the host computes it: its operands go there, the results come back

  explicit operator bool() const { return run != nullptr || run_counted != nullptr || give != nullptr; }
};

// The column of one device: a kernel for every row, by the row's id. A family's file in the device's folder
// adds those of its rows.
class Kernels {
 public:
  // Throws InternalError for a name that no row has, and for a row that has a kernel already.
  void add(std::string_view name, KernelFn run) { add(name, Kernel{.run = run}); }
  void add(std::string_view name, const Kernel& kernel);
  void add(const Op& op, const Kernel& kernel);
  // States why a row does not run. Rows with a body or a view need neither kernel nor reason: they run as
  // those, but for a body that is the op itself for some operands, as that of `matmul`.
  void none(std::string_view name, std::string_view reason);

  // The kernel of a row of the table; false where there is none.
  const Kernel& of(const Op& op) const { return kernels_[static_cast<std::size_t>(op.id)]; }

 private:
  std::vector<Kernel> kernels_ = std::vector<Kernel>(OpTable::get().ops().size());
};

// ---- Devices ---------------------------------------------------------------------------------------------

// A call whose work a device is given again and again, with operands of the same types: it may become one
// command.
class RepeatedCall {
 public:
  virtual ~RepeatedCall() = default;
  // Runs `call`, once. What it throws is thrown when the work before that was given.
  virtual void run(const std::function<void()>& call) = 0;
  // How often all of it was one command.
  virtual std::int64_t launches() const = 0;
};

// One device that computes. Its memory is a row of its own (tensor/device_memory.h).
class Backend {
 public:
  virtual ~Backend() = default;

  // The stream that this thread gives its work to.
  virtual Stream& stream() = 0;
  // Waits until all is done that the stream was given.
  virtual void synchronize(Stream& stream) = 0;

  // Of one program for one choice of sizes; null where the device has no such thing.
  virtual std::unique_ptr<RepeatedCall> repeated_call() { return nullptr; }

  const Kernels& kernels() const { return *kernels_; }

 protected:
  explicit Backend(const Kernels& kernels) : kernels_(&kernels) {}

 private:
  const Kernels* kernels_;
};

// Is it one that a program may name? The CPU is; others are asked for, or depend on the machine.
bool is_here(Device device);
// All of them.
std::vector<Device> devices();
// Throws OpError (Device) for a device that is not here.
Backend& backend_of(Device device);
// Waits until all devices have done what this thread's streams were given: they work beside the program.
void synchronize_devices();
// Puts a device in place, as tests do with devices of their own; it must live on. Null takes it away.
void set_backend(Device device, Backend* backend);

// Is the op computed as one there, beside its body if it has one? A kernel gives new tensors, where a body
// may give views.
bool has_kernel(const Op& op, Device device = {});
// The same where its operands are; on the CPU where none of them is a tensor.
bool has_kernel(const Op& op, Inputs inputs);
// Does the device of the first operand have a kernel that applies to these? Types alone are looked at, so
// that the answer is the same where a body is traced.
bool has_kernel_for(const Op& op, Inputs inputs, const Attrs& attrs);
// May an in-place form of the op compute straight into its target there?
bool is_direct(const Op& op, Device device = {});
// Why the host computes the op for that device; empty where it does not.
std::string_view why_on_host(const Op& op, Device device);

}  // namespace kiln
