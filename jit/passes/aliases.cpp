#include "jit/passes/aliases.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "jit/passes/memories.h"
#include "tensor/core_ops.h"

namespace kiln::jit {
namespace {

// Are equal indices equal places? Strides of dimensions of size 1 say nothing.
bool same_places(const Layout& a, const Layout& b) {
  if (a.sizes != b.sizes || a.offset != b.offset) return false;
  for (std::size_t d = 0; d < a.sizes.size(); ++d) {
    if (a.sizes[d] > 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}
Layout row_major(const Dims& sizes) { return {sizes, contiguous_strides(sizes), 0}; }

// Dimensions from the outermost in memory to the innermost.
Dims memory_order(const Layout& layout) {
  std::vector<std::size_t> order(layout.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&layout](std::size_t a, std::size_t b) {
    return layout.sizes[a] > 1 && layout.sizes[b] > 1 && layout.strides[a] > layout.strides[b];
  });
  Dims result;
  for (const std::size_t each : order) result.push_back(static_cast<std::int64_t>(each));
  return result;
}
Dims inverse(const Dims& order) {
  Dims result(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    result[static_cast<std::size_t>(order[i].known())] = static_cast<std::int64_t>(i);
  }
  return result;
}

bool is_less(Dim a, Dim b) { return a.known() < b.known(); }

bool counts_places(const Fragment& fragment) {
  return std::any_of(fragment.steps.begin(), fragment.steps.end(), [](const Fragment::Step& step) {
    return step.op != nullptr && step.op->has(kCountsPlaces);
  });
}

constexpr const char* kNoElements = "places are counted that are no elements of the tensor";

[[noreturn]] void refuse(std::string text) { throw OpError(ErrorKind::Capture, std::move(text)); }

}  // namespace

// ---- What there is ----

int Aliases::add_memory(ValueId value, int input, LayoutAt layout, bool is_placed) {
  memories_.push_back({value, 0, 0, input, std::move(layout), is_placed, nullptr});
  Alias base;
  base.memory = static_cast<int>(memories_.size()) - 1;
  base.layout = layout_of_base(memories_.back());
  aliases_.push_back(std::move(base));
  return static_cast<int>(aliases_.size()) - 1;
}

std::vector<int> Aliases::add_views(const Node& view, int source, std::span<const std::string> names) {
  Application made{source, view, {}};
  made.node.form = Form::Plain;
  for (std::size_t k = 0; k < view.outputs.size(); ++k) {
    Alias each;
    each.memory = memory(source);
    each.application = static_cast<int>(applications_.size());
    each.output = k;
    each.name = names[k];
    each.depth = at(nearest(source)).depth + 1;
    const bool cuts = view.op->has(kStopsGradient) && !view.is_unrecorded;
    each.detached = cuts ? static_cast<int>(aliases_.size()) : at(source).detached;
    made.aliases.push_back(static_cast<int>(aliases_.size()));
    aliases_.push_back(std::move(each));
  }
  applications_.push_back(std::move(made));
  const std::vector<Layout> layouts = view.op->view(layout(source), evaluate(*view.op, view.attrs, hints_));
  for (const int each : applications_.back().aliases) {
    at(each).layout = layouts.at(at(each).output);
    at(each).same = same_before(each);
  }
  return applications_.back().aliases;
}

// Programs that turn a tensor round and back again and again make long paths, which every write goes all the
// way. So the path of a view ends where one before it was the same; short ones are left as the program has
// them. -1: it is no other's.
int Aliases::same_before(int alias) const {
  constexpr int kLong = 8, kLookedAt = 8;
  if (at(alias).depth <= kLong) return -1;
  int before = alias;
  for (int i = 0; i < kLookedAt; ++i) {
    if (at(before).application < 0 || !application(before).node.op->has(kShowsAll)) return -1;
    before = nearest(application(before).source);
    if (at(before).detached != at(alias).detached) return -1;
    if (lies_always_as(alias, before)) return before;
  }
  return -1;
}

// Whatever the symbols are.
bool Aliases::lies_always_as(int alias, int other) const {
  if (at(alias).layout != at(other).layout) return false;
  if (hints_.empty()) return true;
  const Memory& memory = memories_[static_cast<std::size_t>(at(alias).memory)];
  return same_layouts(
      out_.graph, [&] { return layout_over(alias, memory.layout()); },
      [&] { return layout_over(other, memory.layout()); });
}

// In this call.
Layout Aliases::layout_of_base(const Memory& memory) const {
  const SizeScope scope(hints_);
  return at_hints(memory.layout());
}

int Aliases::source(int alias) const { return at(alias).application < 0 ? -1 : application(alias).source; }

Layout Aliases::layout(int alias) const { return at(alias).layout; }

// The layout of the alias over a base with this layout.
Layout Aliases::layout_over(int alias, const Layout& base) const {
  if (at(alias).application < 0) return base;
  const Application& from = application(alias);
  return layout_of_view(*from.node.op, layout_over(nearest(from.source), base),
                        to_attrs(*from.node.op, from.node.attrs), at(alias).output);
}

// Nodes that were appended do not change.
Layout Aliases::layout_now(ValueId id) {
  const auto index = static_cast<std::size_t>(id);
  if (layouts_now_.size() <= index) layouts_now_.resize(out_.graph.values.size());
  if (layouts_now_[index]) return *layouts_now_[index];
  const std::span<const int> producers = producers_.of(out_.graph);
  const int place = producers[index];
  const Node* const node = place < 0 ? nullptr : &out_.graph.nodes[static_cast<std::size_t>(place)];
  const bool is_step = node != nullptr && node->is_view() && !out_.graph.values[index].type.strides;
  Layout found = is_step ? layout_of_view(*node->op, layout_now(node->operands[0].value),
                                          evaluate(*node->op, node->attrs, hints_),
                                          static_cast<std::size_t>(id - node->outputs[0]))
                         : layout_of(out_.graph, producers, id, hints_);
  layouts_now_[index] = found;
  return found;
}

LayoutAt Aliases::layout_at(ValueId id) {
  return [this, id] { return layout_of(out_.graph, producers_.of(out_.graph), id); };
}

bool Aliases::is_argument(ValueId id) {
  const std::span<const int> producers = producers_.of(out_.graph);
  int place = producers[static_cast<std::size_t>(id)];
  while (place >= 0 && out_.graph.nodes[static_cast<std::size_t>(place)].is_view()) {
    id = out_.graph.nodes[static_cast<std::size_t>(place)].operands[0].value;
    place = producers[static_cast<std::size_t>(id)];
  }
  return place < 0 && out_.graph.inputs[static_cast<std::size_t>(id)].role != Role::Base;
}

// ---- Reading ----

// Does the view of `source` have the elements that it had in the captured graph? `source` may have another
// layout than there.
bool Aliases::fits(const Application& from, ValueId source) {
  const Layout now = layout_now(source), captured = layout(from.source);
  if (from.node.op->has(kCountsPlaces)) {
    return lies_as_captured(memory_of(from.source)) && same_places(now, captured);
  }
  if (same_places(now, captured)) return true;
  try {
    from.node.op->view(now, evaluate(*from.node.op, from.node.attrs, hints_));
    return true;
  } catch (const OpError&) {  // strides do not allow it
    return false;
  }
}

// The result of an op that counts places may reach all of the operand's storage. But a written memory has
// only the elements of its base.
void Aliases::check_places(int alias, const Layout& places) const {
  const Memory& here = memories_[static_cast<std::size_t>(at(alias).memory)];
  const Layout base = layout_of_base(here);
  const std::int64_t end = extent(base).second;
  const bool has_all = extent(places).second <= end && end == count_elements(base.sizes);
  if (!here.is_placed || (here.version > 0 && !has_all)) refuse(kNoElements);
}

// Has what the alias is a part of another history than the base's value?
bool Aliases::has_own_history(int alias) const {
  const int detached = at(alias).detached;
  const Memory& here = memories_[static_cast<std::size_t>(at(alias).memory)];
  return (detached < 0 ? here.history : at(detached).written) != Operand::kAbsent;
}

ValueId Aliases::with_history_of(ValueId before, ValueId elements, const Node& like) {
  if (!is_differentiable(out_.type(elements).dtype)) return elements;
  const ValueId apart = out_.apply(core_ops().detach, {Operand::of(elements)}, {}, like)[0];
  return out_.apply(core_ops().straight_through, {Operand::of(before), Operand::of(apart)}, {}, like)[0];
}

void Aliases::settle_history(int alias) {
  Memory& here = memory_of(alias);
  if (at(alias).detached >= 0 || here.history == Operand::kAbsent) return;
  const ValueId before = std::exchange(here.history, Operand::kAbsent);
  set_base(here, with_history_of(before, here.value, *here.writer));
}

// Of a `detach` through which something was written.
ValueId Aliases::detached_value(int alias) {
  const Memory& here = memory_of(alias);
  if (at(alias).written_of != here.version) {
    const ValueId elements = read_elements(alias);
    at(alias).written = with_history_of(at(alias).written, elements, *here.writer);
    at(alias).written_of = here.version;
  }
  return at(alias).written;
}

ValueId Aliases::read_view(int alias) {
  settle_history(alias);
  return view(alias, false);
}

ValueId Aliases::read_elements(int alias) { return view(alias, true); }

ValueId Aliases::view_of_source(int alias, bool elements_alone) {
  return view(nearest(application(alias).source), elements_alone || is_detach(alias));
}

ValueId Aliases::view(int alias, bool elements_alone) {
  if (at(alias).application < 0) return memory_of(alias).value;
  const bool is_kept = !elements_alone || !has_own_history(alias);
  if (is_kept && at(alias).viewed_of == memory_of(alias).copy) return at(alias).viewed;
  if (is_kept && is_detach(alias) && has_own_history(alias)) {
    const ValueId value = detached_value(alias);
    at(alias).viewed = value;
    at(alias).viewed_of = memory_of(alias).copy;
    return value;
  }
  const Application& from = application(alias);
  if (from.node.op->has(kCountsPlaces)) check_places(alias, layout(alias));
  ValueId source = view_of_source(alias, elements_alone);
  if (!fits(from, source)) {
    copy_base(memory_of(alias));
    source = view_of_source(alias, elements_alone);
    if (!fits(from, source)) source = view_of_source(alias, true);
    if (!fits(from, source)) refuse(fmt::format("{} of a tensor in an unusual layout", from.node.op->name()));
  }
  Node node = from.node;
  node.operands = {Operand::of(source)};
  std::vector<std::string> names;
  for (const int each : from.aliases) names.push_back(at(each).name);
  const std::vector<ValueId> made = out_.append(std::move(node), names);
  if (!is_kept) return made[at(alias).output];
  const Memory& here = memory_of(alias);
  for (const int each : from.aliases) {
    Alias& result = at(each);
    result.viewed = made[result.output];
    result.viewed_of = here.copy;
    if (result.known_of == here.version) continue;
    result.known = result.viewed;
    result.known_of = here.version;
  }
  return at(alias).viewed;
}

ValueId Aliases::read(int alias) {
  settle_history(alias);
  const Alias& here = at(alias);
  if (here.application < 0 || here.known_of != memory_of(alias).version) return read_view(alias);
  return here.known;
}

ValueId Aliases::read_written(int alias) {
  const Alias& here = at(alias);
  const bool is_known = here.application >= 0 && here.known_of == memory_of(alias).version;
  return is_known ? here.known : read_elements(alias);
}

bool Aliases::lies_alike(ValueId value, int alias) {
  const Layout captured = layout(alias), now = layout_now(value);
  return count_elements(now.sizes) == 0 || (now.sizes == captured.sizes && now.strides == captured.strides);
}

// ---- Laying out ----

bool Aliases::lies_as_captured(const Memory& memory) {
  return same_places(layout_now(memory.value), layout_of_base(memory));
}

void Aliases::set_base(Memory& memory, ValueId value) {
  memory.value = value;
  ++memory.copy;
}

// Without gaps, its dimensions in the order that they have in memory as captured.
void Aliases::copy_base(Memory& memory) {
  const Node like = memory.writer != nullptr ? *memory.writer : Node();
  const Dims order = memory_order(layout_of_base(memory));
  const bool in_order = std::is_sorted(order.begin(), order.end(), is_less);
  ValueId value = memory.value;
  if (!in_order) value = out_.apply(core_ops().permute, {Operand::of(value)}, {order}, like)[0];
  value = out_.apply(core_ops().clone, {Operand::of(value)}, {}, like)[0];
  if (!in_order) value = out_.apply(core_ops().permute, {Operand::of(value)}, {inverse(order)}, like)[0];
  set_base(memory, value);
}

void Aliases::lay_out(int alias) {
  Memory& here = memory_of(alias);
  if (layout_now(here.value) == layout_of_base(here)) return;
  copy_base(here);
  if (!lies_as_captured(here))
    refuse("a tensor in an unusual layout is written, and then its places are counted");
}

// ---- Writing ----

void Aliases::write(int alias, ValueId elements, const Node& like) {
  // Elements of the base that are not written keep their history.
  if (at(alias).application >= 0) settle_history(alias);
  const int detached = at(alias).detached;
  const ValueId before = memory_of(alias).value;
  ValueId updated = elements, written = Operand::kAbsent;
  if (is_scattered_at_once(alias)) {
    if (is_detach(alias)) written = elements;
    updated = scatter(alias, elements, like);
  } else {
    bool is_apart = false;
    for (int each = nearest(alias); at(each).application >= 0; each = nearest(application(each).source)) {
      if (each == detached) written = updated;
      is_apart = is_apart || is_detach(each);
      updated = undo(each, view_of_source(each, is_apart), updated, like);
    }
  }
  Memory& here = memory_of(alias);
  if (detached < 0) {
    here.history = Operand::kAbsent;
  } else {
    if (here.history == Operand::kAbsent) here.history = before;
    if (written != Operand::kAbsent) at(detached).written = written;
    if (written != Operand::kAbsent) at(detached).written_of = here.version + 1;
  }
  set_base(here, updated);
  here.writer = &like;
  ++here.version;
  at(alias).known = at(alias).application < 0 ? updated : elements;
  at(alias).known_of = here.version;
}

bool Aliases::is_made_by_places(int alias) const {
  for (; at(alias).application >= 0; alias = nearest(application(alias).source)) {
    if (application(alias).node.op->has(kCountsPlaces)) return true;
  }
  return false;
}

// Is the alias part of a view in which elements share places (unfold, expand), for which no scatter is
// defined, or made by counting places, which may reach out of what it is a view of?
bool Aliases::is_scattered_at_once(int alias) const {
  if (hints_.empty() && is_made_by_places(alias)) return true;
  for (; at(alias).application >= 0; alias = nearest(application(alias).source)) {
    const int from = nearest(application(alias).source);
    const bool counts = application(alias).node.op->has(kCountsPlaces);
    if (has_overlap(layout(from)) || (counts && at(from).application >= 0)) return true;
  }
  return false;
}

// Straight into the places that the alias has in the base.
ValueId Aliases::scatter(int alias, ValueId elements, const Node& like) {
  if (!hints_.empty())
    refuse("a write through overlapping views, or as_strided, with sizes that are symbols");
  for (int each = nearest(alias); at(each).application >= 0; each = nearest(application(each).source)) {
    if (application(each).node.op->view_dtype != nullptr)
      refuse("a write through overlapping views, or as_strided, of what is a view of another dtype");
  }
  Memory& here = memory_of(alias);
  // An argument may begin anywhere in its storage.
  if (is_argument(here.value) || !is_contiguous(layout_now(here.value))) copy_base(here);
  if (is_made_by_places(alias)) lay_out(alias);
  const Layout base = layout_now(here.value), places = layout_over(alias, base);
  if (extent(places).second > count_elements(base.sizes)) refuse(kNoElements);
  const ValueId made =
      out_.apply(core_ops().as_strided_scatter, {Operand::of(here.value), Operand::of(elements)},
                 {places.sizes, places.strides, Dim(places.offset)}, like)[0];
  Type& type = out_.graph.values[static_cast<std::size_t>(made)].type;
  if (!is_contiguous(base)) type.strides = base.strides;  // a scatter keeps the layout of its operand
  return made;
}

Fragment Aliases::undo_steps(int alias, ValueId base, ValueId updated) {
  const Node& step = application(alias).node;
  const std::string_view name = step.op->name();
  if (!step.op->undo) refuse(fmt::format("a write through {}: {}", name, step.op->undo.missing));
  const Type base_type = out_.type(base), type = out_.type(updated);
  const TraceOperand operands[] = {{Operand::of(0), base_type.dtype, base_type.device, layout_at(base)},
                                   {Operand::of(1), type.dtype, type.device, layout_at(updated)}};
  const Body body = [&step, output = static_cast<int>(at(alias).output)](Inputs given) {
    return Tensors{step.op->undo.fn(given[0], given[1], to_attrs(*step.op, step.attrs), output)};
  };
  std::optional<Fragment> fragment;
  try {
    fragment = trace(body, operands, hints_, is_composite);
  } catch (const OpError& error) {
    refuse(fmt::format("a write through {} has no functional form: {}", name, error.message()));
  }
  if (!fragment) refuse(fmt::format("a write through {} with sizes that are symbols", name));
  return std::move(*fragment);
}

// What the alias is a view of, with `updated` in place of the alias.
ValueId Aliases::undo(int alias, ValueId base, ValueId updated, const Node& like) {
  Fragment steps = undo_steps(alias, base, updated);
  if (counts_places(steps) &&
      (is_argument(base) || !same_places(layout_now(base), row_major(layout_now(base).sizes)))) {
    base = out_.apply(core_ops().clone, {Operand::of(base)}, {}, like)[0];
    steps = undo_steps(alias, base, updated);
  }
  std::string name = at(nearest(application(alias).source)).name;
  return inline_fragment(out_, steps, {Operand::of(base), Operand::of(updated)}, like, std::move(name))[0]
      .value;
}

}  // namespace kiln::jit
