// Owns the loop that runs every program: op by op through `bind`, or, where addresses are filled in, straight
// at them.
#pragma once

#include <cstdint>
#include <optional>

#include "jit/runtime/bound_program.h"
#include "jit/runtime/program.h"
#include "tensor/interrupt.h"
#include "tensor/tape/backward_watch.h"

namespace kiln::jit {

// One run. Throws what ops throw, after releasing all values.
class Call {
 public:
  // Arguments are held by the caller meanwhile, unless the program takes them. `bound`: the addresses of a
  // program that the arguments fit; null: none are known.
  Call(const Program& program, const Specialization& specialization, Inputs arguments, Progress& progress,
       BoundProgram* bound);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Tensors run();

 private:
  using Instruction = Program::Instruction;

  const Tensor& at(Source source) const;
  Tensor& result(const Instruction& instruction, std::size_t k = 0) {
    return frame_[program_.values[instruction.results.begin + k]];
  }
  const Attrs& attrs(std::uint32_t index) const { return *specialization_.attrs[index]; }
  const Dims& symbols(const Instruction& kernel) const { return attrs(kernel.attrs).get<Dims>("symbols"); }

  void one_by_one(std::size_t begin, std::size_t end);
  void find_gradients();
  void watch_gradients(std::size_t n);
  void carry_out(std::size_t n);
  void carry_out(const Instruction& instruction);
  void apply(const Instruction& instruction, Inputs operands);
  void apply_into(const Instruction& instruction);
  bool apply_over(const Instruction& instruction, Inputs operands);
  bool run_over(const Instruction& kernel, Inputs operands);
  void run_in_pieces(const Instruction& product, const Instruction& kernel);
  void keep(const Instruction& instruction, Tensors results);
  void release(const Instruction& instruction);

  bool computes_only(std::span<const Instruction> instructions) const;
  bool may_lie_over(Source source) const;
  void launch();

  void effects(bool are_checked);
  void check_targets() const;
  bool is_open(const Program::EffectInstruction& effect) const;
  Tensors written_values() const;
  void carry_out(const Program::EffectInstruction& effect);
  void retake(const Program::ViewInstruction& view);
  void leave_behind(const Tensor& x);

  static constexpr std::size_t kInlineFrame = 32;

  const Program& program_;
  const Specialization& specialization_;
  const Inputs arguments_;
  Progress& progress_;
  BoundProgram* const bound_;
  SmallVector<Tensor, kInlineFrame> values_;  // the frame, unless the bound program has it
  std::span<Tensor> frame_;
  SmallVector<Tensor, 4> became_;
  Tensors written_;             // the values of writes that are still to be done
  std::size_t next_write_ = 0;  // of these
  // While a timeline is recorded: the first and the last instruction that computes gradients. SIZE_MAX where
  // the program has none, and where no timeline is recorded.
  std::size_t first_gradient_ = SIZE_MAX, last_gradient_ = SIZE_MAX;
  std::optional<BackwardSpan> computes_gradients_;
  // A graph that writes as it goes is not cut after its first write.
  std::optional<HeldInterrupts> since_write_;
};

}  // namespace kiln::jit
