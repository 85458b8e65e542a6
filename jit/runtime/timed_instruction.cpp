#include "jit/runtime/timed_instruction.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "jit/loops/kernel_op.h"

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

}  // namespace

void TimedInstruction::begin(std::span<const Program::Instruction> together) {
  const Node* const node = together.back().node;
  if (node == nullptr || together.back().kind == Program::Instruction::Kind::CallBack) return;
  std::vector<std::string_view> names;
  for (const Program::Instruction& each : together) {
    if (each.op != nullptr) add_ops(*each.op, names);
  }
  if (names.empty()) names.emplace_back("constant");  // what an instruction without an op makes
  const Place& place = node->place;
  span_.emplace(timeline::Kind::Kernel, joined(names), timeline::line_of(place.file.get(), place.line));
}

}  // namespace kiln::jit
