#include "interpreter/capture/flow/loop_flow.h"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/capture/flow/reader.h"
#include "jit/graph/trace.h"
#include "tensor/autograd.h"

namespace kiln::interp::capture {

namespace {

constexpr int kMostReadings = 100;  // each finds something that the next one begins with

LoopReading refused(std::string reason, int line = 0) { return {nullptr, std::move(reason), line}; }

bool draws(const jit::FlowGraph& flow) {
  const auto draws_in = [](const jit::FlowBlock& block) {
    return std::any_of(block.steps.begin(), block.steps.end(), [](const jit::FlowStep& each) {
      return !each.node.is_constant() && each.node.op->draws();
    });
  };
  return std::any_of(flow.blocks.begin(), flow.blocks.end(), draws_in);
}

}  // namespace

bool LoopFlow::is_differentiated() const {
  return std::find(wanted.begin(), wanted.end(), true) != wanted.end();
}

void LoopFlow::Held::visit_references(ReferenceVisitor& visitor) const {
  interp::visit_references(value, visitor);
  for (const Held& each : parts) each.visit_references(visitor);
}

void LoopFlow::visit_references(ReferenceVisitor& visitor) const {
  sources.visit_references(visitor);
  interp::visit_references(exprs.all, visitor);
  interp::visit_references(guards, visitor);
  for (const Exit& exit : exits) {
    for (const auto& [number, held] : exit.registers) held.visit_references(visitor);
    for (const auto& [source, held] : exit.variables) held.visit_references(visitor);
  }
}

LoopReading read_loop(Vm& vm, const Loop& loop, bool in_place, std::vector<VmapAround> vmaps,
                      levels::Level* gradient) {
  if (levels::top != gradient) return refused("the loop runs under a transform");
  if (vm.watcher() != nullptr) return refused("each instruction is watched");
  const jit::NoLevels apart;
  auto flow = std::make_unique<LoopFlow>();
  flow->in_gradient = gradient != nullptr;
  FlowSources inputs(*flow, std::move(vmaps), gradient);
  FlowKnowledge knowledge;
  for (int k = 0; k < kMostReadings; ++k) {
    FlowReader reader(vm, loop, *flow, inputs, knowledge);
    try {
      if (!reader.read()) continue;
    } catch (const ReadAgain&) {
      continue;
    } catch (const Unsupported& unsupported) {
      return refused(unsupported.reason, reader.line());
    }
    if (draws(*flow->graph) && !in_place) return refused("random numbers are drawn");
    if (!reader.goes_round() && reader.first_reason().empty())
      return refused("no iteration follows this one");
    if (!reader.goes_round()) return refused(reader.first_reason(), reader.line_of_first_reason());
    return {std::move(flow), {}, 0};
  }
  return refused("the loop is too intricate");
}

}  // namespace kiln::interp::capture
