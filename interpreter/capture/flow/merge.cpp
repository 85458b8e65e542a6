// Places where ways through a loop meet: what registers hold there, and whether all ways agree in it.
#include <algorithm>

#include <fmt/format.h>

#include "interpreter/capture/flow/batched.h"
#include "interpreter/capture/flow/reader.h"
#include "interpreter/vm/registers.h"

namespace kiln::interp::capture {

using jit::BlockId;

namespace {

constexpr int kMostVersions = 4;  // of one place in the code, by what registers hold there

// The value that an int has some iterations later, so that it is no special case of a rule.
std::int64_t later_hint(std::int64_t first) { return first > 8 ? first - 3 : first + 3; }

}  // namespace

std::string FlowReader::key_of(const FlowState& state) const {
  std::string key = state.wrote ? "w" : "";
  for (const FlowFrame& each : state.frames) {
    key += fmt::format("/{}:{}", static_cast<const void*>(each.code), each.pc);
    for (const FlowItem& item : each.registers) key += "," + signature_of(item);
  }
  key += "/";
  for (const FlowItem& each : state.variables) key += "," + signature_of(each);
  for (const FlowItem& each : state.variables_before) key += "," + signature_of(each);
  for (const FlowItem& each : state.registers_before) key += "," + signature_of(each);
  return key + sameness_of(state);
}

void FlowReader::forget_dead(FlowState& state) const {
  const auto forget = [](const FlowFrame& frame, std::vector<FlowItem>& registers) {
    const Liveness& live = frame.code->liveness();
    for (std::uint32_t r = 0; r < registers.size(); ++r) {
      if (!live.is_live(frame.pc, r)) registers[r] = FlowItem::dead();
    }
  };
  for (FlowFrame& each : state.frames) forget(each, each.registers);
  forget(state.frames.front(), state.registers_before);
}

std::vector<FlowItem*> FlowReader::leaves_of(FlowState& state) const {
  std::vector<FlowItem*> leaves;
  const auto add = [&leaves](std::vector<FlowItem>& items) {
    for (FlowItem& item : items) each_leaf(item, [&](FlowItem& leaf) { leaves.push_back(&leaf); });
  };
  for (FlowFrame& each : state.frames) add(each.registers);
  add(state.variables);
  add(state.variables_before);
  add(state.registers_before);
  return leaves;
}

std::string FlowReader::name_of_leaf(const FlowState& state, std::size_t leaf) const {
  std::size_t k = 0;
  const auto is_within = [&](FlowItem item) {
    const std::size_t first = k;
    each_leaf(item, [&k](FlowItem&) { ++k; });
    return first <= leaf && leaf < k;
  };
  for (const FlowFrame& each : state.frames) {
    for (std::uint32_t r = 0; r < each.registers.size(); ++r) {
      if (is_within(each.registers[r])) return text_of_register_in(*each.code, r);
    }
  }
  for (const auto* variables : {&state.variables, &state.variables_before}) {
    for (std::size_t v = 0; v < variables->size(); ++v) {
      if (is_within((*variables)[v])) return flow_.sources[knowledge_.assigned[v].source].text;
    }
  }
  return {};
}

void FlowReader::connect(BlockId from, bool is_other, FlowState state) {
  if (!state.in_call() && !loop_.contains(state.top().pc))
    return leave_by_edge(from, is_other, state, kLoopIsDone);
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
    expect_equal_sizes(x.tensor.sizes(), y.tensor.sizes());
    misfit_ = fmt::format("`{}` is {} on one way and {} on another", name_of_leaf(state, k), text_of(y),
                          text_of(x));
    return false;
  }
  return true;
}

// Sizes that two ways write differently, and that are equal now, are so in all runs of the flow, as far as
// they follow from inputs.
void FlowReader::expect_equal_sizes(const Dims& one, const Dims& other) {
  bool is_new = false;
  for (std::size_t d = 0; d < one.size(); ++d)
    is_new = is_new || inputs_.sizes().make_equal(one[d], other[d]);
  if (is_new) throw ReadAgain{};
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
  const bool is_letter = first.is(FlowItem::Kind::Letter);
  if (!is_letter && !first.is(FlowItem::Kind::Number) && !first.is(FlowItem::Kind::Tensor))
    throw Unsupported{text_of(first) + " is another one on another way"};
  knowledge_.parameters.emplace(place.key, leaf);
  const std::string name = name_of_leaf(place.entry, leaf);
  if (is_letter) {
    *leaves[leaf] = FlowItem::letter(notes_.add_number(DType::I64, name, 0, SizeScope::kAnyInt));
    leaves[leaf]->serial = *serial_of(first);
  } else if (first.is(FlowItem::Kind::Number)) {
    const std::int64_t hint = first.is_int() ? later_hint(notes_.hint_of(first)) : 0;
    *leaves[leaf] = notes_.add_number(first.dtype, name, hint, SizeScope::kAnyInt);
  } else {
    const Tensor plain = notes_.add_tensor(notes_.type_of(first), name);
    *leaves[leaf] = FlowItem::of(batched(plain, levels_of(first.tensor)));
  }
  place.parameters.push_back(leaf);
  notes_.at(notes_.block()).parameters.push_back(notes_.operand_of(*leaves[leaf]).value);
}

}  // namespace kiln::interp::capture
