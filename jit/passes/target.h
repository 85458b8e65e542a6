// Owns targets: what the compiler of a device gives, from what a kernel may hold to how its code is launched.
// The target of a device is one object in the folder of that device; jit/pipeline/targets.cpp lists them.
// Passes and the pipeline ask it, and know no processor.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

struct KernelNotes;      // jit/loops/kernel_op.h
struct KernelParts;      // jit/loops/kernel.h
class Kernel;            // jit/loops/kernel.h
class LoadedCode;        // jit/loops/kernel.h
struct KernelUse;        // jit/loops/kernel.h
struct ScheduledKernel;  // jit/loops/kernel.h
struct Lowered;          // jit/loops/lower.h
struct ScheduledNest;    // jit/loops/schedule.h

// What it costs to pass a value of a kernel on to another one, in additions for each element: it is written
// and read again. A value of fewer bytes than `near_bytes` stays in a cache of the core, of fewer than
// `far_bytes` in the last cache.
struct PassingCost {
  std::int64_t near_bytes, near;
  std::int64_t far_bytes, far;
  std::int64_t memory;
};

// What one kernel may hold, and what is worth one: grouping reads it.
struct KernelLimits {
  std::int64_t work;             // in additions for each element
  std::size_t values;            // tensors that it reads and makes
  std::int64_t kept_bytes;       // so much more memory in use is worse than one kernel more
  std::int64_t epilogue_bytes;   // a product that is at least as large is worth a kernel that goes with it
  std::int64_t column_elements;  // so many are worth a kernel that reduces down the columns
  std::int64_t short_row;        // rows of fewer elements are interleaved,
  std::int64_t few_rows;         // and fewer of them than this are left to the eager kernel
  PassingCost passing;
};

// What is made of nests: code that is loaded and run, or text for people, in the compiler's own language or
// in the processor's.
enum class Product : std::uint8_t { Object, Source, Assembly };
// In code as text, lines that begin with it and a number say which line of the nest what follows belongs to.
inline constexpr char kMark = '@';
// The function that a nest becomes, by its number in the call.
inline std::string kernel_symbol(std::size_t nest) { return "kernel" + std::to_string(nest); }
// The user's name of what each line of each nest's body computes. It is empty where the user gave none.
using LineNames = std::vector<std::vector<std::string>>;

struct Target {
  std::string_view name;  // of its kind of device
  KernelLimits limits;
  // How many lines of nests `emit` takes at best: what it does once for all nests pays then, and between two
  // calls an interrupt is seen.
  std::size_t lines_at_once;
  // How comments begin in the text of code.
  std::string_view source_comment, assembly_comment;

  // Why a node cannot be part of a kernel, though nests can say what it computes; empty when it can.
  std::string (*why_not)(const Graph& graph, const Node& node);
  // How the nests of a kernel run.
  ScheduledKernel (*schedule)(Lowered kernel, const KernelUse& use);
  // Makes the code of nests, or its text. Throws NoCompiler where there is no compiler, and InternalError
  // with the message of a compiler that fails.
  std::string (*emit)(std::span<const ScheduledNest> nests, Product product, const LineNames& names);
  // Puts an object that `emit` has made, perhaps in another process, where it can run. Throws InternalError
  // for anything else.
  std::shared_ptr<const LoadedCode> (*load)(std::string_view object);
  // What runs a kernel over tensors, with the functions of its nests.
  std::unique_ptr<const Kernel> (*launch)(KernelParts parts);

  // What code depends on beside nests and schedules, so that it can be kept: the build of the compiler (empty
  // where that is not known, and nothing is kept), and the processor.
  std::string (*compiler)();
  std::string (*processor)();
  // For people: fills in the notes on those kernels of a graph that are the target's. Notes are in the order
  // of `kernels_of`.
  void (*note)(const Graph& fused, std::span<KernelNotes> notes);
};

// The compiler of a device. It is null for a device without one, whose ops run one by one.
const Target* target_of(Device device);

// While it lives, another target compiles for a kind of device: for tests. Kernels stay with the one that
// compiled them.
class ReplacedTarget {
 public:
  ReplacedTarget(Device::Kind kind, const Target& target);
  ~ReplacedTarget();
  ReplacedTarget(const ReplacedTarget&) = delete;
  ReplacedTarget& operator=(const ReplacedTarget&) = delete;

 private:
  Device::Kind kind_;
  const Target* before_;
};

}  // namespace kiln::jit
