// Which plans may be replayed.
#include <algorithm>

#include "jit/graph/custom.h"
#include "jit/graph/escape_analysis.h"
#include "jit/runtime/bound_program.h"
#include "jit/shape_rules.h"

namespace kiln::jit {
namespace {

bool is_repeatable(const Program& program, const Program::Instruction& instruction) {
  if (instruction.kind != Program::Instruction::Kind::Apply || instruction.node == nullptr) return false;
  const Node& node = *instruction.node;
  if (is_view(instruction)) return true;
  // What shares an operand's memory here and there, or is a function of the program, may be kept by somebody.
  const bool is_fresh = node.form == Form::Write ? !node.writes_metadata() : !may_share_operand(node);
  return is_fresh && !follows_symbols(program, instruction) && custom_function(*instruction.op) == nullptr;
}

}  // namespace

bool BoundProgram::is_possible(const Graph& graph, const Program& program) {
  // What it holds are addresses of the host's memory.
  const auto is_known = [](const jit::Value& each) {
    return !has_symbols(each.type.sizes) && is_on_host(each.type.device);
  };
  const auto repeatable = [&program](const Program::Instruction& instruction) {
    return is_repeatable(program, instruction);
  };
  const auto is_over = [](const Program::EffectInstruction& each) {
    return each.kind == Effect::Kind::Write && each.may_be_over && each.target.table == Table::Argument &&
           each.views.begin == each.views.end;
  };
  return std::all_of(program.effects.begin(), program.effects.end(), is_over) && program.views.empty() &&
         program.bases.empty() && !program.instructions.empty() &&
         std::all_of(program.instructions.begin(), program.instructions.end(), repeatable) &&
         std::all_of(program.products.begin(), program.products.end(), repeatable) &&
         std::all_of(graph.values.begin(), graph.values.end(), is_known) &&
         std::none_of(program.outputs.begin(), program.outputs.end(),
                      [](const Program::Output& each) { return each.is_number; });
}

}  // namespace kiln::jit
