// The ways through a loop: blocks, what registers hold where ways meet, and jumps between blocks.
#include "interpreter/capture/flow/reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "interpreter/vm/registers.h"

namespace kiln::interp::capture {

using jit::BlockId;
using jit::FlowEnd;

namespace {

const char* const kDone = "the loop is done";
constexpr int kMostVersions = 4;  // of one place in the code, by what registers hold there

// The value that an int has some iterations later, so that it is no special case of a rule.
std::int64_t later_hint(std::int64_t first) { return first > 8 ? first - 3 : first + 3; }

}  // namespace

FlowReader::FlowReader(Vm& vm, const Loop& loop, LoopFlow& flow, FlowSources& inputs,
                       FlowKnowledge& knowledge)
    : vm_(vm),
      loop_(loop),
      flow_(flow),
      inputs_(inputs),
      knowledge_(knowledge),
      notes_("loop"),
      entry_frame_(*vm.frame()) {}

bool FlowReader::read() {
  const Code& code = *entry_frame_.code;
  const auto line = code.span(loop_.top).file == nullptr
                        ? 0
                        : code.span(loop_.top).file->locate(code.span(loop_.top).begin).line;
  notes_.graph().name = fmt::format("{}:{}", code.name.empty() ? "loop" : code.name, line);
  inputs_.begin(notes_);
  flow_.exits.clear();
  FlowFrame frame;
  frame.code = &code;
  frame.pc = loop_.top;
  for (std::uint32_t r = 0; r < code.registers; ++r) {
    Source source;
    source.kind = Source::Kind::Register;
    source.number = r;
    source.text = text_of_register_in(code, r);
    const bool is_live = code.liveness().is_live(loop_.top, r);
    frame.registers.push_back(is_live
                                  ? FlowItem::at(entry_frame_.base[r], inputs_.add_source(std::move(source)))
                                  : FlowItem::dead());
  }
  entry_ = frame.registers;
  if (code.opcode_at(loop_.end - 1) == Opcode::NextFor) {
    const std::uint32_t state = code.instructions[loop_.end - 1].a;
    const FlowItem& next = entry_[state];
    const FlowItem& left = entry_[state + 1];
    if (next.known.is(Tag::Int) && left.known.is(Tag::Int)) inputs_.set_own_range(next.source, left.source);
  }
  notes_.set_exit([this](const std::string& reason) { return exit_now(reason); });
  notes_.begin_block();
  FlowState state;
  state.frames.push_back(std::move(frame));
  connect(0, false, std::move(state));
  for (;;) {
    Place* next = nullptr;
    for (Place& each : places_) {
      if (each.block < 0 && (next == nullptr || each.rank < next->rank)) next = &each;
    }
    if (next == nullptr) break;
    emit(*next);
  }
  agrees_ = agrees_ && !inputs_.found_new();
  if (agrees_) finish();
  return agrees_ && !inputs_.found_new();
}

// ---- Places ----

std::string FlowReader::key_of(const FlowState& state) const {
  std::string key = state.wrote ? "w" : "";
  for (const FlowFrame& each : state.frames) {
    key += fmt::format("/{}:{}", static_cast<const void*>(each.code), each.pc);
    for (const FlowItem& item : each.registers) key += "," + signature_of(item);
  }
  return key;
}

const std::vector<bool>& FlowReader::targets(const Code& code) {
  const auto [known, is_new] = targets_.try_emplace(&code, code.instructions.size() + 1, false);
  if (is_new) {
    for (std::size_t pc = 0; pc < code.instructions.size(); ++pc) {
      const std::int64_t jump = jump_of(code, pc);
      if (jump != 0) known->second[static_cast<std::size_t>(static_cast<std::int64_t>(pc) + jump)] = true;
    }
  }
  return known->second;
}

// In this order an instruction comes behind all that lead to it, but for those that jump back.
const std::vector<std::size_t>& FlowReader::ranks(const Code& code, std::size_t first) {
  const auto [known, is_new] = ranks_.try_emplace(&code, code.instructions.size() + 1, std::size_t{0});
  if (!is_new) return known->second;
  struct Open {
    std::size_t pc;
    int ways = 0;
  };
  std::vector<bool> seen(code.instructions.size() + 1, false);
  std::vector<Open> open{{first}};
  seen[first] = true;
  std::size_t rank = code.instructions.size() + 1;
  while (!open.empty()) {
    Open& now = open.back();
    if (now.pc >= code.instructions.size() || now.ways == 2) {
      known->second[now.pc] = --rank;
      open.pop_back();
      continue;
    }
    const std::int64_t jump = jump_of(code, now.pc);
    const bool follows = now.ways++ == 0;
    std::size_t next = now.pc;
    if (follows && goes_on(code.opcode_at(now.pc))) next = now.pc + 1;
    if (!follows && jump != 0) next = static_cast<std::size_t>(static_cast<std::int64_t>(now.pc) + jump);
    if (seen[next]) continue;
    seen[next] = true;
    open.push_back({next});
  }
  return known->second;
}

std::vector<std::size_t> FlowReader::rank_of(const FlowState& state) {
  std::vector<std::size_t> rank;
  for (const FlowFrame& each : state.frames)
    rank.push_back(ranks(*each.code, rank.empty() ? loop_.top : 0)[each.pc]);
  return rank;
}

void FlowReader::forget_dead(FlowState& state) const {
  for (FlowFrame& each : state.frames) {
    const Liveness& live = each.code->liveness();
    for (std::uint32_t r = 0; r < each.registers.size(); ++r) {
      if (!live.is_live(each.pc, r)) each.registers[r] = FlowItem::dead();
    }
  }
}

std::vector<FlowItem*> FlowReader::leaves_of(FlowState& state) const {
  std::vector<FlowItem*> leaves;
  for (FlowFrame& each : state.frames) {
    for (FlowItem& item : each.registers) each_leaf(item, [&](FlowItem& leaf) { leaves.push_back(&leaf); });
  }
  return leaves;
}

std::string FlowReader::name_of_leaf(const FlowState& state, std::size_t leaf) const {
  std::size_t k = 0;
  for (const FlowFrame& each : state.frames) {
    for (std::uint32_t r = 0; r < each.registers.size(); ++r) {
      FlowItem item = each.registers[r];
      std::size_t count = 0;
      each_leaf(item, [&count](FlowItem&) { ++count; });
      if (leaf < k + count) return text_of_register_in(*each.code, r);
      k += count;
    }
  }
  return {};
}

void FlowReader::connect(BlockId from, bool is_other, FlowState state) {
  if (!state.in_call() && !loop_.contains(state.top().pc)) return leave_by_edge(from, is_other, state, kDone);
  forget_dead(state);
  const std::string key = key_of(state);
  Place*& place = by_key_[key];
  if (place == nullptr) {
    std::vector<std::size_t> rank = rank_of(state);
    if (++versions_[rank] > kMostVersions) {
      by_key_.erase(key);
      return leave_by_edge(from, is_other, state, "variables change their types too often");
    }
    places_.emplace_back();
    place = &places_.back();
    place->key = key;
    place->rank = std::move(rank);
  }
  arrive(*place, {from, is_other, std::move(state)});
}

void FlowReader::arrive(Place& place, Edge edge) {
  if (place.block >= 0) {
    if (!fits(place.entry, edge.state)) return leave_by_edge(edge.from, edge.is_other, edge.state, misfit_);
    const std::vector<FlowItem*> given = leaves_of(edge.state);
    const std::vector<FlowItem*> known = leaves_of(place.entry);
    for (std::size_t k = 0; k < given.size(); ++k) {
      const bool is_parameter =
          std::find(place.parameters.begin(), place.parameters.end(), k) != place.parameters.end();
      if (is_parameter || same_item(*given[k], *known[k]) || is_same_object(*given[k], *known[k])) continue;
      knowledge_.parameters.emplace(place.key, k);
      agrees_ = false;
    }
  }
  place.edges.push_back(std::move(edge));
}

// Are they one object of the program, wherever it was found?
bool FlowReader::is_same_object(const FlowItem& given, const FlowItem& known) {
  const bool is_object = known.is(FlowItem::Kind::Known) && known.source < 0 && !known.known.is_number();
  if (!is_object || !given.is(FlowItem::Kind::Known) || !identical(given.known, known.known)) return false;
  inputs_.expect_same(given);
  return true;
}

// Do tensors that come this way have the types that they have there?
bool FlowReader::fits(FlowState known, const FlowState& state) {
  FlowState given = state;
  const std::vector<FlowItem*> a = leaves_of(given), b = leaves_of(known);
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (same_item(*a[k], *b[k])) continue;
    const FlowItem x = forced(*a[k]), y = forced(*b[k]);
    if (!x.is(FlowItem::Kind::Tensor) || notes_.type_of(x) == notes_.type_of(y)) continue;
    misfit_ = fmt::format("`{}` is {} on one way and {} on another", name_of_leaf(state, k), text_of(y),
                          text_of(x));
    return false;
  }
  return true;
}

// What the place's instruction begins with: values that all ways agree in, and parameters.
void FlowReader::merge(Place& place) {
  std::vector<Edge> edges;
  edges.swap(place.edges);
  place.edges.push_back(std::move(edges.front()));
  for (std::size_t e = 1; e < edges.size(); ++e) {
    if (fits(place.edges.front().state, edges[e].state)) {
      place.edges.push_back(std::move(edges[e]));
    } else {
      leave_by_edge(edges[e].from, edges[e].is_other, edges[e].state, misfit_);
    }
  }
  place.entry = place.edges.front().state;
  const std::vector<FlowItem*> leaves = leaves_of(place.entry);
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    bool differs = knowledge_.parameters.contains({place.key, k});
    for (Edge& each : place.edges) differs = differs || !same_item(*leaves_of(each.state)[k], *leaves[k]);
    if (differs) meet(place, leaves, k);
  }
}

void FlowReader::meet(Place& place, std::vector<FlowItem*> leaves, std::size_t leaf) {
  const FlowItem first = forced(*leaves[leaf]);
  if (first.is(FlowItem::Kind::Known)) {  // the same object, found in several places
    for (Edge& each : place.edges) inputs_.expect_same(*leaves_of(each.state)[leaf]);
    *leaves[leaf] = FlowItem::at(first.known, -1);
    return;
  }
  knowledge_.parameters.emplace(place.key, leaf);
  const std::string name = name_of_leaf(place.entry, leaf);
  if (first.is(FlowItem::Kind::Number)) {
    const std::int64_t hint = first.is_int() ? later_hint(notes_.hint_of(first)) : 0;
    *leaves[leaf] = notes_.add_number(first.dtype, name, hint, SizeScope::kAnyInt);
  } else {
    *leaves[leaf] = FlowItem::of(notes_.add_tensor(notes_.type_of(first), name));
  }
  place.parameters.push_back(leaf);
  notes_.at(notes_.block()).parameters.push_back(notes_.operand_of(*leaves[leaf]).value);
}

void FlowReader::emit(Place& place) {
  place.block = notes_.begin_block();
  place_ = &place;
  merge(place);
  state_ = place.entry;
  replay_.reset();
  ended_ = false;
  instructions();
}

// ---- Ends of blocks ----

void FlowReader::end_block(FlowEnd end) {
  end.place = notes_.place();
  notes_.at(notes_.block()).end = std::move(end);
  ended_ = true;
}

void FlowReader::go_to(std::size_t pc) {
  end_block({FlowEnd::Kind::Jump, {}, {}, {}, 0, {}});
  FlowState next = state_;
  next.top().pc = pc;
  connect(notes_.block(), false, std::move(next));
}

void FlowReader::branch(const FlowItem& condition, std::size_t then, std::size_t other) {
  if (condition.is_literal()) return go_to(condition.literal().as_bool() ? then : other);
  FlowEnd end;
  end.kind = FlowEnd::Kind::Branch;
  end.condition = notes_.operand_of(condition);
  end_block(std::move(end));
  FlowState next = state_;
  next.top().pc = then;
  const BlockId from = notes_.block();
  connect(from, false, next);
  next.top().pc = other;
  connect(from, true, std::move(next));
}

void FlowReader::leave(const std::string& reason) {
  if (first_reason_.empty()) first_reason_ = reason;
  FlowEnd end;
  end.kind = FlowEnd::Kind::Leave;
  end.exit = exit_of(state_, reason);
  end_block(std::move(end));
}

void FlowReader::leave_by_edge(BlockId from, bool is_other, const FlowState& state,
                               const std::string& reason) {
  if (first_reason_.empty() && reason != kDone) first_reason_ = reason;
  const jit::ExitId exit = exit_of(state, reason);
  const BlockId block = notes_.add_leaving(exit);
  FlowEnd& end = notes_.at(from).end;
  if (end.kind == FlowEnd::Kind::Leave) end.kind = FlowEnd::Kind::Jump;
  (is_other ? end.other : end.then).block = block;
}

// ---- The whole ----

void FlowReader::finish_arguments(Place& place) {
  for (Edge& each : place.edges) {
    FlowEnd& end = notes_.at(each.from).end;
    if (end.kind == FlowEnd::Kind::Leave) end.kind = FlowEnd::Kind::Jump;
    FlowEnd::Target& target = each.is_other ? end.other : end.then;
    target.block = place.block;
    const std::vector<FlowItem*> leaves = leaves_of(each.state);
    for (const std::size_t leaf : place.parameters)
      target.arguments.push_back(notes_.operand_of(forced(*leaves[leaf])));
    if (each.from < place.block) continue;
    jit::FlowBlock& block = notes_.at(place.block);
    block.begins_loop = true;
    goes_round_ = goes_round_ || (!place.entry.in_call() && place.entry.top().pc == loop_.top);
    block.interrupted = exit_of(place.entry, "interrupted");
  }
}

void FlowReader::finish() {
  for (Place& each : places_) finish_arguments(each);
  flow_.graph = std::make_shared<const jit::FlowGraph>(std::move(notes_.graph()));
}

}  // namespace kiln::interp::capture
