// How capture ends: the values of the frames become a frame plan, changes become effects, and the graph is
// cut to what is needed.
#include <algorithm>
#include <set>

#include "interpreter/capture/tracer.h"
#include "interpreter/vm/registers.h"

namespace kiln::interp::capture {
namespace {

bool is_constant(const Value& v) {
  switch (v.tag()) {
    case Tag::Str:
    case Tag::Range:
    case Tag::Complex:
    case Tag::Type:
    case Tag::StructType:
    case Tag::Module:
      return true;
    default:
      return !v.is_counted();
  }
}

}  // namespace

Tracer::Snapshot Tracer::take_snapshot() {
  Snapshot snapshot;
  snapshot.depth = static_cast<int>(innermost_ - lowest_) + 1;
  snapshot.mark = recorder_.mark();
  snapshot.guards = guards_before_;
  snapshot.inlined = inlined_before_;
  snapshot.differentiated = differentiated_;
  snapshot.hooked = hooked_;
  snapshot.span = vm_.frame()->code->span(vm_.frame()->place());
  for (Frame* frame = lowest_; frame <= vm_.frame(); ++frame) {
    Snapshot::Activation activation;
    activation.function = frame->base[-1];
    activation.place = frame->place();
    const Liveness& live = frame->code->liveness();
    const bool is_top = frame == vm_.frame();
    for (std::uint32_t r = 0; r < frame->code->registers; ++r) {
      const bool needed = is_top && branch_ ? live.is_live_after(activation.place, r)
                          : is_top          ? live.is_live(activation.place, r)
                                            : r < frame->pc->a && live.is_live_after(activation.place, r);
      if (!needed) continue;
      activation.registers.emplace_back(r, frame->base[r]);
      activation.untouched.push_back(is_untouched(frame->base + r));
      activation.numbers.push_back(shadow(frame->base + r));
      const auto of_loop = loop_numbers_.find(frame->base + r);
      activation.items.push_back(of_loop == loop_numbers_.end() ? Tensor() : of_loop->second);
    }
    snapshot.frames.push_back(std::move(activation));
  }
  return snapshot;
}

// Makes the frame plan; fails on values that cannot be made again.
class FramePlanner {
 public:
  using Fields = std::map<std::pair<const void*, std::int64_t>, ExprId>;
  using PartsOf = std::function<std::vector<ExprId>(const Value&)>;
  FramePlanner(const std::unordered_map<const void*, std::pair<SourceId, bool>>& known, const Fields& fields,
               PartsOf parts_of, jit::Recorder& recorder, FramePlan& frame_plan, std::vector<Tensor>& outputs)
      : known_(known),
        fields_(fields),
        parts_of_(std::move(parts_of)),
        recorder_(recorder),
        plans_(frame_plan),
        outputs_(outputs) {}

  ValuePlanId constant(Value v) { return add({ValuePlan::Kind::Constant, std::move(v), 0, {}, {}}); }
  ValuePlanId item(const Tensor& x) {
    outputs_.push_back(x);
    return add({ValuePlan::Kind::Item, {}, static_cast<std::int64_t>(outputs_.size()) - 1, {}, {}});
  }
  ValuePlanId number(ExprId id) { return add({ValuePlan::Kind::Number, {}, id, {}, {}}); }
  // The plan of a part of an object, which may be a varying number.
  ValuePlanId part(const void* object, std::int64_t at, const Value& v) {
    const auto found = fields_.find({object, at});
    return found == fields_.end() ? of(v) : number(found->second);
  }
  ValuePlanId source(SourceId id) { return add({ValuePlan::Kind::Source, {}, id, {}, {}}); }

  ValuePlanId of(const Value& v) {
    if (is_constant(v)) return constant(v);
    const auto made = made_.find(identity(v));
    if (made != made_.end()) return made->second;
    const auto outside = known_.find(identity(v));
    if (outside != known_.end()) {
      const ValuePlanId id = outside->second.second ? constant(v) : source(outside->second.first);
      made_.emplace(identity(v), id);
      return id;
    }
    return v.is(Tag::Tensor) ? of_tensor(v.tensor()) : of_container(v);
  }

  // The plans of a list's items from `first` on; of a dict's keys and values in turn.
  std::vector<ValuePlanId> items(const Value& list, std::size_t first) {
    std::vector<ValuePlanId> parts;
    const std::vector<Value>& all = list.as<List>().items;
    for (std::size_t k = first; k < all.size(); ++k)
      parts.push_back(part(identity(list), static_cast<std::int64_t>(k), all[k]));
    return parts;
  }
  std::vector<ValuePlanId> entries(const Value& dict) {
    std::vector<ValuePlanId> parts;
    std::int64_t at = 0;
    for (const Dict::Entry& each : dict.as<Dict>().entries()) {
      if (!each.live) continue;
      failed = failed || (each.key.is_counted() && !each.key.is(Tag::Str));
      parts.push_back(of(each.key));
      parts.push_back(part(identity(dict), at++, each.value));
    }
    return parts;
  }

  bool failed = false;

 private:
  ValuePlanId add(ValuePlan plan) {
    plans_.push_back(std::move(plan));
    return static_cast<ValuePlanId>(plans_.size()) - 1;
  }

  ValuePlanId of_tensor(const Tensor& x) {
    if (!recorder_.knows(x) || x.impl()->wrapper) {
      failed = true;
      return 0;
    }
    const ValuePlanId id =
        add({ValuePlan::Kind::Output, {}, static_cast<std::int64_t>(outputs_.size()), {}, {}});
    outputs_.push_back(x);
    made_.emplace(x.impl(), id);
    return id;
  }

  // The id is taken first, so that parts can refer back to the container.
  ValuePlanId of_container(const Value& v) {
    const ValuePlanId id = add({});
    made_.emplace(identity(v), id);
    ValuePlan plan;
    const auto parts = [&](const std::vector<Value>& values) {
      for (const Value& each : values) plan.parts.push_back(of(each));
    };
    switch (v.tag()) {
      case Tag::List:
        plan.kind = ValuePlan::Kind::List;
        plan.parts = items(v, 0);
        break;
      case Tag::Tuple:
        plan.kind = ValuePlan::Kind::Tuple;
        if (v.as<Tuple>().names != nullptr) plan.value = names_only(v.as<Tuple>());
        numbered(v, v.as<Tuple>().items, plan);
        break;
      case Tag::Dict:
        plan.kind = ValuePlan::Kind::Dict;
        plan.parts = entries(v);
        break;
      case Tag::Set:
        plan.kind = ValuePlan::Kind::Set;
        plan.parts = entries(v);
        break;
      case Tag::Slice:
        plan.kind = ValuePlan::Kind::Slice;
        numbered(v, {v.as<Slice>().start, v.as<Slice>().stop, v.as<Slice>().step}, plan);
        break;
      case Tag::Instance:
        plan.kind = ValuePlan::Kind::Instance;
        plan.value = v.as<Instance>().type;
        for (std::size_t k = 0; k < v.as<Instance>().fields.size(); ++k) {
          plan.parts.push_back(part(identity(v), static_cast<std::int64_t>(k), v.as<Instance>().fields[k]));
        }
        for (const auto& [name, value] : v.as<Instance>().extra) {
          plan.names.push_back(name);
          plan.parts.push_back(part(identity(v), place_of(v.as<Instance>(), name), value));
        }
        break;
      case Tag::Function:
        plan.kind = ValuePlan::Kind::Function;
        plan.value = bare(v.as<Function>());
        plan.number = static_cast<std::int64_t>(v.as<Function>().captures.size());
        parts(v.as<Function>().captures);
        parts(v.as<Function>().defaults);
        break;
      case Tag::Cell:
        plan.kind = ValuePlan::Kind::Cell;
        plan.parts = {part(identity(v), 0, v.as<Cell>().value)};
        break;
      case Tag::Method:
        plan.kind = ValuePlan::Kind::Method;
        plan.parts = {of(v.as<Method>().receiver), of(v.as<Method>().function)};
        break;
      default:
        failed = true;
    }
    plans_[static_cast<std::size_t>(id)] = std::move(plan);
    return id;
  }

  void numbered(const Value& v, const std::vector<Value>& values, ValuePlan& plan) {
    const std::vector<ExprId> numbers = parts_of_(v);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const bool is_number = k < numbers.size() && numbers[k] >= 0;
      plan.parts.push_back(is_number ? number(numbers[k]) : of(values[k]));
    }
  }

  // The code and module alone, so that a plan keeps no values of the recorded call alive.
  static Value bare(const Function& like) {
    auto* function = new Function(like.code, like.owner);
    Value value{static_cast<Object*>(function)};
    function->module = like.module;
    return value;
  }
  static Value names_only(const Tuple& like) {
    Value tuple = make<Tuple>();
    tuple.as<Tuple>().names = like.names;
    return tuple;
  }

  const std::unordered_map<const void*, std::pair<SourceId, bool>>& known_;
  const Fields& fields_;
  PartsOf parts_of_;
  jit::Recorder& recorder_;
  FramePlan& plans_;
  std::vector<Tensor>& outputs_;
  std::unordered_map<const void*, ValuePlanId> made_;
};

// nullopt when a value cannot be made again.
std::optional<Tracer::Finished> Tracer::finish(Snapshot snapshot) {
  Finished finished;
  std::unordered_map<const void*, std::pair<SourceId, bool>> sources;
  for (const auto& [object, known] : known_) {
    const bool constant = sources_[known.source].kind == Source::Kind::Constant;
    sources.emplace(object, std::pair{known.source, constant});
  }
  FramePlanner planner(
      sources, kept_numbers_, [this](const Value& v) { return parts_of(v); }, recorder_, finished.frame_plan,
      finished.outputs);
  finished.exit.depth = snapshot.depth;
  if (snapshot.returned) {
    finished.exit.returns = true;
    finished.exit.result =
        snapshot.result_number >= 0 ? planner.number(snapshot.result_number) : planner.of(snapshot.result);
  }
  Value* base = snapshot.frames.empty() ? nullptr : lowest_->base;
  for (std::size_t f = 0; f < snapshot.frames.size(); ++f) {
    const Snapshot::Activation& each = snapshot.frames[f];
    Exit::Activation activation;
    activation.function = f == 0 ? -1 : planner.of(each.function);
    activation.place = each.place;
    std::vector<bool> is_needed(each.function.as<Function>().code->registers, false);
    for (std::size_t k = 0; k < each.registers.size(); ++k) {
      const auto& [r, v] = each.registers[k];
      is_needed[r] = true;
      if (f == 0 && each.untouched[k]) continue;  // the register keeps its value
      const ValuePlanId id = each.untouched[k]      ? planner.source(register_source(base + r))
                             : each.numbers[k] >= 0 ? planner.number(each.numbers[k])
                             : each.items[k]        ? planner.item(each.items[k])
                                                    : planner.of(v);
      activation.registers.emplace_back(r, id);
    }
    finished.exit.frames.push_back(std::move(activation));
    for (std::uint32_t r = 0; f == 0 && r < is_needed.size(); ++r) {
      if (!is_needed[r]) finished.exit.dropped.push_back(r);
    }
    const Code& code = *each.function.as<Function>().code;
    owners_.push_back(each.function.as<Function>().owner);
    base = base + code.instructions[each.place].a + 1;
  }
  for (const void* object : change_order_) {
    const Change& change = changes_.at(object);
    const auto effect = [&](HostEffect::Kind kind) {
      HostEffect made;
      made.kind = kind;
      made.target = change.source;
      return made;
    };
    if (change.target.is(Tag::Module)) {
      for (const std::int64_t slot : change.fields) {
        HostEffect made = effect(HostEffect::Kind::Slot);
        made.number = slot;
        made.parts = {
            planner.part(object, slot, change.target.as<Module>().slots[static_cast<std::size_t>(slot)])};
        finished.effects.push_back(std::move(made));
      }
    } else if (change.target.is(Tag::Instance)) {
      const Instance& instance = change.target.as<Instance>();
      for (const std::int64_t field : change.fields) {
        HostEffect made = effect(HostEffect::Kind::Field);
        made.number = field;
        made.parts = {planner.part(object, field, instance.fields[static_cast<std::size_t>(field)])};
        finished.effects.push_back(std::move(made));
      }
      for (const std::string& name : change.extras) {
        const Value* const value = change.target.as<Instance>().find(name);
        if (value == nullptr) continue;  // the interpreter runs the instruction that would make it
        HostEffect made = effect(HostEffect::Kind::Extra);
        made.name = name;
        made.parts = {planner.part(object, place_of(instance, name), *value)};
        finished.effects.push_back(std::move(made));
      }
    } else if (change.cell) {
      HostEffect made = effect(HostEffect::Kind::Cell);
      made.parts = {planner.part(object, 0, change.target.as<Cell>().value)};
      finished.effects.push_back(std::move(made));
    } else if (change.contents) {
      HostEffect made = effect(HostEffect::Kind::Contents);
      made.parts =
          change.target.is(Tag::List) ? planner.items(change.target, 0) : planner.entries(change.target);
      finished.effects.push_back(std::move(made));
    } else if (change.gradient) {
      const ValuePlanId gradient = planner.of(*change.gradient);
      HostEffect made = effect(HostEffect::Kind::Grad);
      made.parts = {gradient};
      finished.effects.push_back(std::move(made));
    } else if (change.appended > 0) {
      HostEffect made = effect(HostEffect::Kind::Append);
      const std::size_t count = change.target.as<List>().items.size();
      made.parts = planner.items(change.target, count - static_cast<std::size_t>(change.appended));
      finished.effects.push_back(std::move(made));
    }
  }
  for (const auto& call : calls_) {
    HostEffect made = call.effect;
    for (std::size_t k = 0; k < call.arguments.size(); ++k)
      made.parts.push_back(call.numbers[k] >= 0 ? planner.number(call.numbers[k])
                                                : planner.constant(call.arguments[k]));
    for (const auto& [name, each] : call.named) made.named.emplace_back(name, planner.constant(each));
    finished.effects.push_back(std::move(made));
  }
  if (branch_) {
    finished.exit.condition = planner.of(branch_->condition);
    finished.exit.jumps_when = branch_->jumps_when;
    finished.exit.jump = branch_->jump;
  }
  if (planner.failed) return std::nullopt;
  finished.snapshot = std::move(snapshot);
  finished.views.note(finished.outputs);
  finished.taped = !finish_histories(finished);
  if (finished.taped && recorder_.wrote_history()) {
    finished.names.note(finished.outputs, tape_began_);
    finished.names.note(recorder_.inputs(), tape_began_);
  }
  const bool needs_freed = finished.snapshot.differentiated || finished.snapshot.hooked;
  if (needs_freed && finished.taped) return std::nullopt;
  return finished;
}

// Saves the present state as an end of the entry, before an instruction whose results cannot be made again.
void Tracer::save_checkpoint() {
  if (nested_ > 0) return;
  Snapshot snapshot = take_snapshot();
  // Numbers that the instruction has fixed so far are constants in the saved state.
  snapshot.guards = guards_.size();
  if (auto finished = finish(std::move(snapshot))) checkpoint_ = std::move(finished);
}

namespace {

// Does the result depend on the layout of an operand, beyond the kind of its strides?
bool reads_layout(const jit::Node& node) {
  return node.op != nullptr && (node.is_view() || node.writes() || node.op->lowering == Lowering::Composite);
}

}  // namespace

// Completes the guards on the graph's input tensors: exact layouts where a node depends on them.
void Tracer::add_tensor_guards(Entry& entry) {
  std::vector<bool> exact(entry.captured.inputs.size());
  bool writes = false, changes = false;  // elements, also layouts
  for (const jit::Node& node : entry.captured.nodes) {
    writes = writes || (node.writes() && !node.writes_metadata());
    changes = changes || node.writes();
    if (!reads_layout(node)) continue;
    for (const jit::Operand& each : node.operands) {
      if (each.is_value() && static_cast<std::size_t>(each.value) < exact.size())
        exact[static_cast<std::size_t>(each.value)] = true;
    }
  }
  std::set<const Storage*> memories;
  std::size_t tensors = 0;
  for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
    if (entry.arguments[i].number >= 0) continue;
    memories.insert(recorder_.as_met(recorder_.inputs()[i]).storage().get());
    ++tensors;
  }
  const bool shared = memories.size() < tensors;
  for (Guard& each : entry.guards) {
    if (each.kind != Guard::Kind::Tensor) continue;
    if (!changes) each.tensor.base.reset();
    const auto at =
        std::find_if(entry.arguments.begin(), entry.arguments.end(),
                     [&](const Entry::Argument& a) { return a.source == each.source && a.number < 0; });
    if (at == entry.arguments.end()) continue;
    const auto i = static_cast<std::size_t>(at - entry.arguments.begin());
    each.tensor.exact_strides = each.tensor.exact_strides || exact[i] || (writes && shared);
  }
}

// Fixes all sizes to those of this call, and the numbers that were used as sizes.
void Tracer::fix_sizes() {
  for (Guard& each : guards_) {
    if (each.kind == Guard::Kind::Tensor) each.tensor.symbols.clear();
  }
  for (const Symbol& each : exprs_.symbols) {
    if (each.expr >= 0) fix(each.expr, Value(each.hint));
  }
}

void Tracer::make_entry(Outcome& outcome, Finished finished, const Stop& stop) {
  const bool differentiated = finished.snapshot.differentiated;
  const bool symbolic = !exprs_.symbols.empty() && (!differentiated || histories_follow_sizes(finished));
  auto entry = std::make_unique<Entry>();
  entry->frames.assign(entry_frames_.begin(), entry_frames_.begin() + finished.snapshot.depth);
  entry->owners = owners_;
  if (!finished.snapshot.frames.empty())
    entry->last_code = finished.snapshot.frames.back().function.as<Function>().code;
  guards_.resize(finished.snapshot.guards);
  inlined_.resize(finished.snapshot.inlined);
  entry->inlined = std::move(inlined_);
  if (!symbolic) fix_sizes();
  for (Guard& each : guards_) {
    if (each.kind == Guard::Kind::Tensor)
      each.tensor.plain_leaf = differentiated && each.tensor.requires_grad;
  }
  entry->guards = std::move(guards_);
  entry->captured =
      recorder_.take(finished.snapshot.mark, finished.outputs, {symbolic, differentiated, finished.taped});
  if (symbolic) {
    for (const SizeGuard& each : recorder_.size_guards(finished.snapshot.mark))
      entry->guards.push_back(guard_of(each));
  }
  for (const Tensor& each : recorder_.inputs()) {
    const auto number = number_inputs_.find(each.impl());
    const bool is_number = number != number_inputs_.end();
    entry->arguments.push_back(
        {is_number ? -1 : known_.at(each.impl()).source, is_number ? number->second : -1});
  }
  entry->effects = std::move(finished.effects);
  entry->taped = finished.taped;
  entry->differentiated = differentiated;
  if (const SymbolicRun* run = SymbolicRun::current()) finished.histories.settle(run->scope().hints());
  entry->histories = std::move(finished.histories);
  entry->views = std::move(finished.views);
  entry->views.note_arguments(entry->captured);
  entry->names = std::move(finished.names);
  entry->names.settle(finished.outputs, recorder_.inputs());
  entry->leaves = std::move(finished.leaves);
  add_tensor_guards(*entry);
  add_memory_guard(*entry);
  add_apart_guards(*entry);
  entry->exprs = std::move(exprs_);
  entry->sources = std::move(sources_);
  entry->frame_plan = std::move(finished.frame_plan);
  entry->exit = std::move(finished.exit);
  if (stop.is_break()) entry->break_reason = stop.reason;
  entry->break_file = stop.file;
  entry->break_line = stop.line;
  outcome.entry = std::move(entry);
  outcome.inputs.assign(recorder_.inputs().begin(), recorder_.inputs().end());
  outcome.outputs = std::move(finished.outputs);
  outcome.given.assign(recorder_.given().begin(), recorder_.given().end());
}

}  // namespace kiln::interp::capture
