#include "interpreter/capture/flow/node.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "interpreter/capture/flow/place.h"

namespace kiln::interp::capture {
namespace {

using Held = LoopFlow::Held;

// A loop of fewer iterations is unrolled.
constexpr std::int64_t kMostUnrolled = 64;
// Loops of so few ops in all are unrolled where their tensors have many elements.
constexpr std::int64_t kMostNodes = 1'000, kManyElements = 1 << 13;
// A part is small where so many of them make the whole.
constexpr std::int64_t kSmallParts = 8;

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

std::int64_t elements_of(const jit::FlowGraph& flow, jit::ValueId id) {
  return count_elements(jit::evaluate(flow.type(id), flow.hints).sizes).known();
}

// Does it compute as many? What views show is not computed.
bool has_many_elements(const jit::FlowGraph& flow) {
  return any_step(flow, [&flow](const jit::Node& node) {
    return !node.is_view() && std::any_of(node.outputs.begin(), node.outputs.end(), [&](jit::ValueId id) {
      return elements_of(flow, id) > kManyElements;
    });
  });
}

// Do sizes follow numbers of the loop? Then what they are in most iterations is not known.
bool follows_numbers(const jit::FlowGraph& flow, jit::ValueId id) {
  std::set<std::string> symbols;
  collect_symbols(flow.type(id).sizes, symbols);
  return std::any_of(symbols.begin(), symbols.end(),
                     [](const std::string& each) { return jit::number_of(each).has_value(); });
}

// Does it write small parts of a large tensor? Unrolled, each write makes the whole tensor anew.
bool writes_small_parts(const jit::FlowGraph& flow) {
  std::map<jit::ValueId, jit::ValueId> shown;  // by view: what it shows a part of
  const auto is_small = [&flow](jit::ValueId part, jit::ValueId whole) {
    const std::int64_t elements = elements_of(flow, whole);
    return elements > kManyElements && !follows_numbers(flow, part) &&
           elements_of(flow, part) * kSmallParts <= elements;
  };
  return any_step(flow, [&](const jit::Node& node) {
    if (!node.is_view() && !node.writes()) return false;
    const jit::ValueId of = node.operands[0].value;
    const auto found = shown.find(of);
    const jit::ValueId whole = found == shown.end() ? of : found->second;
    for (const jit::ValueId id : node.outputs) shown[id] = whole;
    return node.writes() && is_small(of, whole);
  });
}

bool has_inner_loop(const jit::FlowGraph& flow) {
  return 1 < std::count_if(flow.blocks.begin(), flow.blocks.end(),
                           [](const jit::FlowBlock& block) { return block.begins_loop; });
}

void expect_many_iterations(const jit::FlowGraph& flow, std::int64_t count, bool varies) {
  if (count > 1 && writes_small_parts(flow)) return;
  if (!varies && count <= kMostUnrolled)
    throw NoNode{fmt::format("it goes round {} times, and up to {} are unrolled", count, kMostUnrolled)};
  const std::int64_t ops = std::max<std::int64_t>(count_ops(flow), 1);
  if (count <= kMostNodes / ops && has_many_elements(flow))
    throw NoNode{"its iterations are few ops on many elements, and are unrolled"};
}

}  // namespace

bool goes_over_long_range(const Frame& frame, const Loop& loop) {
  const std::size_t step = loop.end - 1;
  if (frame.code->opcode_at(step) != Opcode::NextFor) return false;
  const Value* const state = frame.base + frame.code->instructions[step].a;
  return state->is(Tag::Int) && state[1].as_int() >= kMostUnrolled;
}

bool expect_worth_a_node(const Frame& frame, const Loop& loop, const jit::FlowGraph& flow,
                         const FlowPlace* place, bool varies, bool is_shown) {
  if ((place != nullptr && place->ends_entries()) || reads_elements(flow)) return true;
  // Unrolled, loops within loops are a graph of all iterations of all of them.
  if (!is_shown && has_inner_loop(flow) && !has_many_elements(flow)) return true;
  const std::size_t step = loop.end - 1;
  if (frame.code->opcode_at(step) != Opcode::NextFor) return false;
  const Value* const state = frame.base + frame.code->instructions[step].a;
  if (!state->is(Tag::Int)) throw NoNode{"it goes over no range and asks for no element, and is unrolled"};
  expect_many_iterations(flow, state[1].as_int() + 1, varies);
  return true;
}

void expect_long(const LoopFlow& loop, jit::ExitId exit, std::int64_t iterations) {
  expect_many_iterations(*loop.graph, iterations, false);
  const std::vector<jit::Operand>& values = loop.graph->exits[static_cast<std::size_t>(exit)].values;
  for (const auto& [r, held] : loop.exits[static_cast<std::size_t>(exit)].registers) {
    if (held.kind != Held::Kind::Value) continue;
    const jit::Operand& value = values[static_cast<std::size_t>(held.number)];
    if (!value.is_value() || loop.graph->type(value.value).is_number)
      throw NoNode{"a number that it counts is used behind it, and it is unrolled"};
  }
}

namespace {

// ---- Exits ----

bool is_same(const Held& a, const Held& b) {
  return a.kind == b.kind && a.number == b.number && a.vmaps == b.vmaps && identical(a.value, b.value) &&
         a.names == b.names &&
         std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(), is_same);
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
  return std::equal(
      x.registers.begin(), x.registers.end(), y.registers.begin(), y.registers.end(),
      [](const auto& c, const auto& d) { return c.first == d.first && is_same(c.second, d.second); });
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

namespace {

// Why what is read there is not followed; empty where it is.
std::string why_not(const Source& source) {
  using Kind = Source::Kind;
  constexpr Kind kFollowed[] = {Kind::Register, Kind::FrameFunction, Kind::Constant, Kind::Slot,
                                Kind::Capture,  Kind::Cell,          Kind::Item,     Kind::Field};
  if (std::find(std::begin(kFollowed), std::end(kFollowed), source.kind) != std::end(kFollowed)) return "";
  const bool is_iterator = source.kind == Kind::Part;
  return is_iterator ? "it goes over an iterator" : "it reads `" + source.text + "`, which is not followed";
}

// What a guard says is said by those of what was read, or can be.
std::string why_not(const Guard& guard, const LoopFlow& loop) {
  using Kind = Guard::Kind;
  constexpr Kind kFollowed[] = {Kind::Equal,  Kind::Identical, Kind::Same,   Kind::Tag,     Kind::Code,
                                Kind::Length, Kind::Struct,    Kind::Tensor, Kind::Computed};
  if (std::find(std::begin(kFollowed), std::end(kFollowed), guard.kind) != std::end(kFollowed)) return "";
  return "it depends on what is not followed: " + guard.text(loop.sources, loop.exprs);
}

// Numbers that the loop gives are registers.
std::string why_not(const Held& held, const std::vector<jit::Operand>& values, const jit::FlowGraph& flow,
                    bool in_tuple) {
  switch (held.kind) {
    case Held::Kind::Constant:
      return "";
    case Held::Kind::Source:
      return in_tuple ? "a tuple that it gives holds what it was given" : "";
    case Held::Kind::Tuple:
      for (const Held& part : held.parts)
        if (std::string reason = why_not(part, values, flow, true); !reason.empty()) return reason;
      return "";
    case Held::Kind::Value: {
      const jit::Operand& value = values[static_cast<std::size_t>(held.number)];
      if (!value.is_value()) return "a number that it gives is a size";
      return in_tuple && flow.type(value.value).is_number ? "a tuple that it gives holds a number" : "";
    }
    default:
      return "a range, slice, iterator or struct that it made is used behind it";
  }
}

void expect(const std::string& reason) {
  if (!reason.empty()) throw NoNode{reason};
}

}  // namespace

void expect_followed(const LoopFlow& loop, jit::ExitId exit) {
  for (std::size_t id = 0; id < loop.sources.size(); ++id)
    expect(why_not(loop.sources[static_cast<SourceId>(id)]));
  const LoopFlow::Exit& of = loop.exits[static_cast<std::size_t>(exit)];
  const std::vector<jit::Operand>& values = loop.graph->exits[static_cast<std::size_t>(exit)].values;
  if (!of.variables.empty())
    throw NoNode{"it assigns `" + loop.sources[of.variables.front().first].text +
                 "`, which is no local variable"};
  for (const Guard& each : loop.guards) expect(why_not(each, loop));
  for (const auto& [r, held] : of.registers) expect(why_not(held, values, *loop.graph, false));
}

}  // namespace kiln::interp::capture
