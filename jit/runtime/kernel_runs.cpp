#include "jit/runtime/kernel_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/runtime/program.h"

namespace kiln::jit {
namespace {

void note_run(const Program& program, const FusedKernel& kernel, KernelNotes& notes) {
  const std::span<const Program::Instruction> instructions = program.computing();
  const auto found = std::ranges::find(instructions, kernel.op, &Program::Instruction::op);
  if (found == instructions.end()) return;  // nothing reads what it makes
  const auto place = static_cast<std::size_t>(found - instructions.begin());
  if (place >= program.launch && instructions.size() - program.launch > 1) notes.shared = "in one launch";
  if (place == 0 || !instructions[place - 1].feeds_next) return;
  notes.input_in_pieces = static_cast<int>(found->made);
  const ValueId id = kernel.lowered->inputs[found->made];
  notes.product = kernel.source->producers()[static_cast<std::size_t>(id)];
  notes.shared = fmt::format("in pieces of in{}", found->made);
}

}  // namespace

std::vector<KernelNotes> notes_on_runs(const Graph& fused) {
  std::vector<KernelNotes> notes = kernel_notes(fused);
  const std::vector<FusedKernel> kernels = kernels_of(fused);
  const Program program = make_program(fused);
  for (std::size_t k = 0; k < kernels.size(); ++k) note_run(program, kernels[k], notes[k]);
  return notes;
}

}  // namespace kiln::jit
