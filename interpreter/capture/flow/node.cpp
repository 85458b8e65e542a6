#include "interpreter/capture/flow/node.h"

#include <algorithm>

#include "interpreter/capture/flow/place.h"

namespace kiln::interp::capture {
namespace {

using Held = LoopFlow::Held;

// A loop of fewer iterations is unrolled.
constexpr std::int64_t kMostUnrolled = 64;
// Loops of so few ops in all are unrolled where their tensors have many elements.
constexpr std::int64_t kMostNodes = 1'000, kManyElements = 1 << 13;

// ---- What a loop does ----

template <class F>
bool any_step(const jit::FlowGraph& flow, const F& is) {
  return std::any_of(flow.blocks.begin(), flow.blocks.end(), [&](const jit::FlowBlock& block) {
    return std::any_of(block.steps.begin(), block.steps.end(),
                       [&](const jit::FlowStep& step) { return is(step.node); });
  });
}

bool reads_elements(const jit::FlowGraph& flow) {
  return any_step(flow,
                  [](const jit::Node& node) { return node.op == &jit::number_op(jit::NumberOp::Item); });
}

// Beside views, and what is done with numbers.
std::int64_t count_ops(const jit::FlowGraph& flow) {
  std::int64_t count = 0;
  any_step(flow, [&count](const jit::Node& node) {
    if (!node.is_constant() && !node.is_view() && !jit::number_op_of(*node.op)) ++count;
    return false;
  });
  return count;
}

bool has_many_elements(const jit::FlowGraph& flow) {
  return any_step(flow, [&flow](const jit::Node& node) {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](jit::ValueId id) {
      return count_elements(jit::evaluate(flow.type(id), flow.hints).sizes) > kManyElements;
    });
  });
}

}  // namespace

bool is_worth_a_node(const Frame& frame, const Loop& loop, const jit::FlowGraph& flow,
                     const FlowPlace* place) {
  if ((place != nullptr && place->ends_entries()) || reads_elements(flow)) return true;
  const std::size_t step = loop.end - 1;
  if (frame.code->opcode_at(step) != Opcode::NextFor) return false;
  const Value* const state = frame.base + frame.code->instructions[step].a;
  if (!state->is(Tag::Int) || state[1].as_int() < kMostUnrolled) return false;
  const bool is_short = state[1].as_int() < kMostNodes / std::max<std::int64_t>(count_ops(flow), 1);
  return !is_short || !has_many_elements(flow);
}

namespace {

// ---- Exits ----

bool is_same(const std::pair<std::uint32_t, Held>& a, const std::pair<std::uint32_t, Held>& b) {
  const Held &x = a.second, &y = b.second;
  return a.first == b.first && x.kind == y.kind && x.number == y.number && x.count == y.count &&
         identical(x.value, y.value);
}

// Does the frame go on alike behind both exits?
bool are_alike(const LoopFlow& loop, std::size_t a, std::size_t b) {
  const LoopFlow::Exit &x = loop.exits[a], &y = loop.exits[b];
  const auto& of_a = loop.graph->exits[a].values;
  const auto& of_b = loop.graph->exits[b].values;
  if (x.place != y.place || of_a.size() != of_b.size()) return false;
  const auto type = [&](const jit::Operand& value) {
    return value.is_value() ? loop.graph->type(value.value) : jit::Type();
  };
  for (std::size_t k = 0; k < of_a.size(); ++k) {
    if (of_a[k].is_value() != of_b[k].is_value() || !(type(of_a[k]) == type(of_b[k]))) return false;
  }
  return std::equal(x.registers.begin(), x.registers.end(), y.registers.begin(), y.registers.end(), is_same);
}

}  // namespace

std::vector<std::vector<jit::ExitId>> ways_out(const LoopFlow& loop, const Loop& of) {
  std::vector<std::vector<jit::ExitId>> ways;
  for (std::size_t e = 0; e < loop.exits.size(); ++e) {
    if (of.contains(loop.exits[e].place)) continue;
    const auto found = std::find_if(ways.begin(), ways.end(), [&](const std::vector<jit::ExitId>& each) {
      return are_alike(loop, static_cast<std::size_t>(each.front()), e);
    });
    if (found == ways.end()) {
      ways.push_back({static_cast<jit::ExitId>(e)});
    } else {
      found->push_back(static_cast<jit::ExitId>(e));
    }
  }
  return ways;
}

bool gives_number_in_tuple(const LoopFlow& loop, jit::ExitId exit) {
  const auto at = static_cast<std::size_t>(exit);
  for (const auto& [r, held] : loop.exits[at].registers) {
    for (std::int64_t k = 0; k < held.count; ++k) {
      const jit::Operand& value = loop.graph->exits[at].values[static_cast<std::size_t>(held.number + k)];
      if (!value.is_value() || loop.graph->type(value.value).is_number) return true;
    }
  }
  return false;
}

}  // namespace kiln::interp::capture
