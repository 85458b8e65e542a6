#include "jit/runtime/timed_instruction.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "jit/graph/evaluate.h"
#include "jit/loops/kernel_op.h"
#include "jit/runtime/kernel_cost.h"

namespace kiln::jit {
namespace {

constexpr std::size_t kMostNamed = 8;  // ops

// The op, or all that a kernel computes.
void add_ops(const Op& op, std::vector<std::string_view>& names) {
  const KernelOp* const kernel = as_kernel(op);
  if (kernel == nullptr) return names.push_back(op.name());
  const Graph& source = kernel->origin.grouping->source;
  for (const int each : kernel->origin.group().nodes) {
    const Node& node = source.nodes[static_cast<std::size_t>(each)];
    if (!node.is_constant()) names.push_back(node.op->name());
  }
}

// "exp add", "sin add sin add sin add sin add … of 132 ops".
std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t k = 0; k < std::min(names.size(), kMostNamed); ++k)
    text += (k == 0 ? "" : " ") + std::string(names[k]);
  if (names.size() > kMostNamed) text += " … of " + std::to_string(names.size()) + " ops";
  return text;
}

// A tensor of the type alone, so that work is known before it is done.
Tensor stand_in(const TimedInstruction::Of& call, std::uint32_t value) {
  if (value >= call.program.graph_values.size()) return {};  // a number
  const Type& type = call.program.graph_values[value].type;
  return Tensor::without_elements(evaluate(type.sizes, call.specialization.symbols), type.dtype, type.device);
}

Tensor operand(const TimedInstruction::Of& call, Source source) {
  switch (source.table) {
    case Table::Frame:
      return stand_in(call, source.index);
    case Table::Argument:
      return call.arguments[source.index];
    case Table::Prebuilt:
      return call.specialization.prebuilt[source.index];
    case Table::Became:
      break;
  }
  return {};
}

Cost cost_of_instruction(const Program::Instruction& instruction, const TimedInstruction::Of& call) {
  using Kind = Program::Instruction::Kind;
  if (instruction.op == nullptr || instruction.kind == Kind::TakeView) return {};
  Tensors operands, results;
  for (const Source each : call.program.sources(instruction.operands))
    operands.push_back(operand(call, each));
  for (const std::uint32_t each : call.program.of(instruction.results))
    results.push_back(stand_in(call, each));
  const KernelOp* const kernel = as_kernel(*instruction.op);
  if (kernel == nullptr) return kiln::cost_of(*instruction.op, operands, results);
  return kernel_cost(kernel->kernel->lowered(), kernel->kernel->schedule(), operands, results,
                     call.specialization.symbols);
}

// Flops are those of the instructions that count them.
timeline::Work work_of_instructions(std::span<const Program::Instruction> together,
                                    const TimedInstruction::Of& call) {
  timeline::Work work{.bytes = 0, .flops = -1};
  for (const Program::Instruction& each : together) {
    const Cost cost = cost_of_instruction(each, call);
    work.bytes += cost.bytes;
    if (cost.flops) work.flops = std::max<std::int64_t>(work.flops, 0) + *cost.flops;
  }
  return work;
}

}  // namespace

void TimedInstruction::begin(std::span<const Program::Instruction> together, const Of& call) {
  const Node* const node = together.back().node;
  if (node == nullptr || together.back().kind == Program::Instruction::Kind::CallBack) return;
  std::vector<std::string_view> names;
  for (const Program::Instruction& each : together) {
    if (each.op != nullptr) add_ops(*each.op, names);
  }
  if (names.empty()) names.emplace_back("constant");  // what an instruction without an op makes
  const timeline::Work work = work_of_instructions(together, call);
  const Place& place = node->place;
  span_.emplace(timeline::Kind::Kernel, joined(names), timeline::line_of(place.file.get(), place.line));
  if (span_->is_recorded()) span_->does(work);
}

}  // namespace kiln::jit
