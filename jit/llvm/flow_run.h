// Owns how the code of a flow is called: what it is given, and what it asks of the program while it runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/cpu/kernels.h"

namespace kiln::jit {

// Memory of a result, empty until it is first needed.
struct FlowSlot {
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
};

// Words are eight bytes. A number is one: an int, a float's bits, or 0 and 1. A tensor in memory is its
// storage's address, the offset of the first element, then sizes, then strides. One that is kept in a
// register is 0 where it was made by the flow and else the number of the input that it is, from 1; then its
// element.
struct FlowRun {
  const std::int64_t* inputs = nullptr;  // words of all inputs
  std::int64_t* values = nullptr;        // the code writes words of the exit's values
  std::int64_t* words = nullptr;         // of a call's operands, symbols and slots, or of a helper's results
  FlowSlot* slots = nullptr;
  const void* interrupt = nullptr;  // a byte, not 0: somebody asks to stop
  const cpu::BlockKernel* kernels = nullptr;
  std::int64_t iterations = 0;
  std::byte* stack = nullptr;   // memory of what is pushed or popped
  std::int64_t stack_room = 0;  // its bytes
  std::int64_t stack_used = 0;  // those in use: given where the flow pops, and left behind where it pushes
  std::int64_t threads = 1;     // among which kernels share work

  // The program's answers: not 0 is yes. `grow`: there is memory of so many bytes in the slot now. `call`:
  // the op ran. `compute`: `words[0]` is what the number op gives, of operands `words[0]` and `words[1]`.
  std::int64_t (*is_interrupted)(FlowRun* run) = nullptr;
  std::int64_t (*grow)(FlowRun* run, std::int64_t slot, std::int64_t bytes) = nullptr;
  std::int64_t (*call)(FlowRun* run, std::int64_t call) = nullptr;
  std::int64_t (*compute)(FlowRun* run, std::int64_t op, std::int64_t is_float) = nullptr;
  // There is room for so many bytes on the stack now, of which the first `used` stay what they are.
  std::int64_t (*reserve)(FlowRun* run, std::int64_t used, std::int64_t bytes) = nullptr;
};
// Fields by position, in words.
enum FlowField : unsigned {
  kFlowInputs,
  kFlowValues,
  kFlowWords,
  kFlowSlots,
  kFlowInterrupt,
  kFlowKernels,
  kFlowIterations,
  kFlowStack,
  kFlowStackRoom,
  kFlowStackUsed,
  kFlowThreads,
  kFlowIsInterrupted,
  kFlowGrow,
  kFlowCall,
  kFlowCompute,
  kFlowReserve,
};
static_assert(offsetof(FlowRun, reserve) == kFlowReserve * 8);
inline constexpr const char* kFlowSymbol = "flow";

}  // namespace kiln::jit
