// Owns the spans of a compiled call's instructions on the timeline (tensor/timeline.h).
#pragma once

#include <optional>
#include <span>

#include "jit/runtime/program.h"
#include "tensor/timeline.h"

namespace kiln::jit {

// While ops are timed, each instruction is a span with the ops that it computes, or several are one that run
// together. What the program is called back for has spans of its own.
class TimedInstruction {
 public:
  explicit TimedInstruction(const Program::Instruction& one) : TimedInstruction(std::span(&one, 1)) {}
  explicit TimedInstruction(std::span<const Program::Instruction> together) {
    if (timeline::records(timeline::Detail::Ops)) [[unlikely]]
      begin(together);
  }

 private:
  void begin(std::span<const Program::Instruction> together);
  std::optional<timeline::Span> span_;
};

}  // namespace kiln::jit
