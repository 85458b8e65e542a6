// Owns the spans of a compiled call's instructions on the timeline (tensor/timeline.h).
#pragma once

#include <optional>
#include <span>

#include "jit/runtime/program.h"
#include "tensor/timeline.h"

namespace kiln::jit {

// While ops are timed, each instruction is a span with the ops that it computes, its bytes and its
// arithmetic, or several are one that run together. What the program is called back for has spans of its own.
class TimedInstruction {
 public:
  // Of which call they are.
  struct Of {
    const Program& program;
    const Specialization& specialization;
    Inputs arguments;
  };
  TimedInstruction(std::span<const Program::Instruction> together, const Of& call) {
    if (timeline::records(timeline::Detail::Ops)) [[unlikely]]
      begin(together, call);
  }

 private:
  void begin(std::span<const Program::Instruction> together, const Of& call);
  std::optional<timeline::Span> span_;
};

}  // namespace kiln::jit
