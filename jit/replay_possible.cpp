// Which plans may be replayed.
#include <algorithm>

#include "jit/custom.h"
#include "jit/escape_analysis.h"
#include "jit/replay.h"
#include "jit/shape_rules.h"

namespace kiln::jit {
namespace {

bool is_repeatable(const Plan& plan, const Step& step) {
  if (step.kind != Step::Kind::Apply || step.node == nullptr) return false;
  const Node& node = *step.node;
  if (is_view(step)) return true;
  // What shares an operand's memory here and there, or is a function of the program, may be kept by somebody.
  const bool is_fresh = node.form == Form::Write ? !node.writes_metadata() : !may_share_operand(node);
  return is_fresh && !follows_symbols(plan, step) && custom_function(*step.op) == nullptr;
}

}  // namespace

bool Replay::is_possible(const Graph& graph, const Plan& plan) {
  const auto is_known = [](const jit::Value& each) { return !has_symbols(each.type.sizes); };
  const auto repeatable = [&plan](const Step& step) { return is_repeatable(plan, step); };
  const auto is_over = [](const EffectStep& each) {
    return each.kind == Effect::Kind::Write && each.may_be_over && each.target.table == Table::Argument &&
           each.views.begin == each.views.end;
  };
  return std::all_of(plan.effects.begin(), plan.effects.end(), is_over) && plan.views.empty() &&
         plan.bases.empty() && !plan.steps.empty() &&
         std::all_of(plan.steps.begin(), plan.steps.end(), repeatable) &&
         std::all_of(plan.products.begin(), plan.products.end(), repeatable) &&
         std::all_of(graph.values.begin(), graph.values.end(), is_known) &&
         std::none_of(plan.outputs.begin(), plan.outputs.end(),
                      [](const Output& each) { return each.is_number; });
}

}  // namespace kiln::jit
