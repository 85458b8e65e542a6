// How capture ends: what the frames hold becomes recipes, what changed becomes effects, and the graph is cut
// to what is needed.
#include <algorithm>
#include <set>

#include "interpreter/capture/registers.h"
#include "interpreter/capture/tracer.h"

namespace kiln::interp::capture {
namespace {

bool is_constant(const Value& v) {
  switch (v.tag()) {
    case Tag::Str:
    case Tag::Range:
    case Tag::Type:
    case Tag::StructType:
    case Tag::Module:
      return true;
    default:
      return !v.is_counted();
  }
}

const void* identity(const Value& v) {
  return v.is(Tag::Tensor) ? static_cast<const void*>(v.tensor_impl()) : static_cast<const void*>(v.object());
}

}  // namespace

Tracer::Snapshot Tracer::take_snapshot() {
  Snapshot snapshot;
  snapshot.depth = static_cast<int>(innermost_ - lowest_) + 1;
  snapshot.mark = recorder_.mark();
  snapshot.guards = guards_before_;
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
    }
    snapshot.frames.push_back(std::move(activation));
  }
  return snapshot;
}

// Makes recipes; fails on what cannot be made again.
class RecipeBook {
 public:
  using Fields = std::map<std::pair<const void*, std::int64_t>, ExprId>;
  using PartsOf = std::function<std::vector<ExprId>(const Value&)>;
  RecipeBook(const std::unordered_map<const void*, std::pair<SourceId, bool>>& known, const Fields& fields,
             PartsOf parts_of, jit::Recorder& recorder, Recipes& recipes, std::vector<Tensor>& outputs)
      : known_(known),
        fields_(fields),
        parts_of_(std::move(parts_of)),
        recorder_(recorder),
        recipes_(recipes),
        outputs_(outputs) {}

  RecipeId constant(Value v) { return add({Recipe::Kind::Constant, std::move(v), 0, {}, {}}); }
  RecipeId number(ExprId id) { return add({Recipe::Kind::Number, {}, id, {}, {}}); }
  // A part of an object, which may be a number that is not fixed.
  RecipeId part(const void* object, std::int64_t at, const Value& v) {
    const auto found = fields_.find({object, at});
    return found == fields_.end() ? of(v) : number(found->second);
  }
  RecipeId source(SourceId id) { return add({Recipe::Kind::Source, {}, id, {}, {}}); }

  RecipeId of(const Value& v) {
    if (is_constant(v)) return constant(v);
    const auto made = made_.find(identity(v));
    if (made != made_.end()) return made->second;
    const auto outside = known_.find(identity(v));
    if (outside != known_.end()) {
      const RecipeId id = outside->second.second ? constant(v) : source(outside->second.first);
      made_.emplace(identity(v), id);
      return id;
    }
    return v.is(Tag::Tensor) ? of_tensor(v.tensor()) : of_container(v);
  }

  // The items of a list from one on; keys and values of a dict in turn.
  std::vector<RecipeId> items(const Value& list, std::size_t first) {
    std::vector<RecipeId> parts;
    const std::vector<Value>& all = list.as<List>().items;
    for (std::size_t k = first; k < all.size(); ++k)
      parts.push_back(part(identity(list), static_cast<std::int64_t>(k), all[k]));
    return parts;
  }
  std::vector<RecipeId> entries(const Value& dict) {
    std::vector<RecipeId> parts;
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
  RecipeId add(Recipe recipe) {
    recipes_.push_back(std::move(recipe));
    return static_cast<RecipeId>(recipes_.size()) - 1;
  }

  RecipeId of_tensor(const Tensor& x) {
    if (!recorder_.knows(x) || x.impl()->wrapper) {
      failed = true;
      return 0;
    }
    const RecipeId id = add({Recipe::Kind::Output, {}, static_cast<std::int64_t>(outputs_.size()), {}, {}});
    outputs_.push_back(x);
    made_.emplace(x.impl(), id);
    return id;
  }

  // The place is taken first, so that what refers back to it finds it.
  RecipeId of_container(const Value& v) {
    const RecipeId id = add({});
    made_.emplace(identity(v), id);
    Recipe recipe;
    const auto parts = [&](const std::vector<Value>& values) {
      for (const Value& each : values) recipe.parts.push_back(of(each));
    };
    switch (v.tag()) {
      case Tag::List:
        recipe.kind = Recipe::Kind::List;
        recipe.parts = items(v, 0);
        break;
      case Tag::Tuple:
        recipe.kind = Recipe::Kind::Tuple;
        if (v.as<Tuple>().names != nullptr) recipe.value = names_only(v.as<Tuple>());
        numbered(v, v.as<Tuple>().items, recipe);
        break;
      case Tag::Dict:
        recipe.kind = Recipe::Kind::Dict;
        recipe.parts = entries(v);
        break;
      case Tag::Slice:
        recipe.kind = Recipe::Kind::Slice;
        numbered(v, {v.as<Slice>().start, v.as<Slice>().stop, v.as<Slice>().step}, recipe);
        break;
      case Tag::Instance:
        recipe.kind = Recipe::Kind::Instance;
        recipe.value = v.as<Instance>().type;
        for (std::size_t k = 0; k < v.as<Instance>().fields.size(); ++k) {
          recipe.parts.push_back(part(identity(v), static_cast<std::int64_t>(k), v.as<Instance>().fields[k]));
        }
        for (const auto& [name, value] : v.as<Instance>().extra) {
          recipe.names.push_back(name);
          recipe.parts.push_back(part(identity(v), place_of(v.as<Instance>(), name), value));
        }
        break;
      case Tag::Function:
        recipe.kind = Recipe::Kind::Function;
        recipe.value = bare(v.as<Function>());
        recipe.number = static_cast<std::int64_t>(v.as<Function>().captures.size());
        parts(v.as<Function>().captures);
        parts(v.as<Function>().defaults);
        break;
      case Tag::Cell:
        recipe.kind = Recipe::Kind::Cell;
        recipe.parts = {part(identity(v), 0, v.as<Cell>().value)};
        break;
      case Tag::Method:
        recipe.kind = Recipe::Kind::Method;
        recipe.parts = {of(v.as<Method>().receiver), of(v.as<Method>().function)};
        break;
      default:
        failed = true;
    }
    recipes_[static_cast<std::size_t>(id)] = std::move(recipe);
    return id;
  }

  void numbered(const Value& v, const std::vector<Value>& values, Recipe& recipe) {
    const std::vector<ExprId> numbers = parts_of_(v);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const bool is_number = k < numbers.size() && numbers[k] >= 0;
      recipe.parts.push_back(is_number ? number(numbers[k]) : of(values[k]));
    }
  }

  // The code and module alone, so that a recipe keeps no values of the recorded call alive.
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
  Recipes& recipes_;
  std::vector<Tensor>& outputs_;
  std::unordered_map<const void*, RecipeId> made_;
};

// Nothing when some value cannot be made again.
std::optional<Tracer::Finished> Tracer::finish(Snapshot snapshot) {
  Finished finished;
  std::unordered_map<const void*, std::pair<SourceId, bool>> sources;
  for (const auto& [object, known] : known_) {
    const bool constant = sources_[known.source].kind == Source::Kind::Constant;
    sources.emplace(object, std::pair{known.source, constant});
  }
  RecipeBook book(
      sources, kept_numbers_, [this](const Value& v) { return parts_of(v); }, recorder_, finished.recipes,
      finished.outputs);
  finished.exit.depth = snapshot.depth;
  if (snapshot.returned) {
    finished.exit.returns = true;
    finished.exit.result =
        snapshot.result_number >= 0 ? book.number(snapshot.result_number) : book.of(snapshot.result);
  }
  Value* base = snapshot.frames.empty() ? nullptr : lowest_->base;
  for (std::size_t f = 0; f < snapshot.frames.size(); ++f) {
    const Snapshot::Activation& each = snapshot.frames[f];
    Exit::Activation activation;
    activation.function = f == 0 ? -1 : book.of(each.function);
    activation.place = each.place;
    std::vector<bool> is_needed(each.function.as<Function>().code->registers, false);
    for (std::size_t k = 0; k < each.registers.size(); ++k) {
      const auto& [r, v] = each.registers[k];
      is_needed[r] = true;
      if (f == 0 && each.untouched[k]) continue;  // it stays
      const RecipeId id = each.untouched[k]      ? book.source(register_source(base + r))
                          : each.numbers[k] >= 0 ? book.number(each.numbers[k])
                                                 : book.of(v);
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
            book.part(object, slot, change.target.as<Module>().slots[static_cast<std::size_t>(slot)])};
        finished.effects.push_back(std::move(made));
      }
    } else if (change.target.is(Tag::Instance)) {
      const Instance& instance = change.target.as<Instance>();
      for (const std::int64_t field : change.fields) {
        HostEffect made = effect(HostEffect::Kind::Field);
        made.number = field;
        made.parts = {book.part(object, field, instance.fields[static_cast<std::size_t>(field)])};
        finished.effects.push_back(std::move(made));
      }
      for (const std::string& name : change.extras) {
        const Value* const value = change.target.as<Instance>().find(name);
        if (value == nullptr) continue;  // the instruction that would make it is the interpreter's
        HostEffect made = effect(HostEffect::Kind::Extra);
        made.name = name;
        made.parts = {book.part(object, place_of(instance, name), *value)};
        finished.effects.push_back(std::move(made));
      }
    } else if (change.cell) {
      HostEffect made = effect(HostEffect::Kind::Cell);
      made.parts = {book.part(object, 0, change.target.as<Cell>().value)};
      finished.effects.push_back(std::move(made));
    } else if (change.contents) {
      HostEffect made = effect(HostEffect::Kind::Contents);
      made.parts = change.target.is(Tag::List) ? book.items(change.target, 0) : book.entries(change.target);
      finished.effects.push_back(std::move(made));
    } else if (change.gradient) {
      const RecipeId gradient = book.of(*change.gradient);
      HostEffect made = effect(HostEffect::Kind::Grad);
      made.parts = {gradient};
      finished.effects.push_back(std::move(made));
    } else if (change.appended > 0) {
      HostEffect made = effect(HostEffect::Kind::Append);
      const std::size_t count = change.target.as<List>().items.size();
      made.parts = book.items(change.target, count - static_cast<std::size_t>(change.appended));
      finished.effects.push_back(std::move(made));
    }
  }
  for (const auto& call : calls_) {
    HostEffect made = call.effect;
    for (std::size_t k = 0; k < call.arguments.size(); ++k)
      made.parts.push_back(call.numbers[k] >= 0 ? book.number(call.numbers[k])
                                                : book.constant(call.arguments[k]));
    for (const auto& [name, each] : call.named) made.named.emplace_back(name, book.constant(each));
    finished.effects.push_back(std::move(made));
  }
  if (branch_) {
    finished.exit.condition = book.of(branch_->condition);
    finished.exit.jumps_when = branch_->jumps_when;
    finished.exit.jump = branch_->jump;
  }
  if (book.failed) return std::nullopt;
  finished.snapshot = std::move(snapshot);
  finished.taped = !finish_histories(finished);
  if (finished.taped && recorder_.wrote_history()) {
    finished.names.note(finished.outputs, tape_began_);
    finished.names.note(recorder_.inputs(), tape_began_);
  }
  const bool needs_spent = finished.snapshot.differentiated || finished.snapshot.hooked;
  if (needs_spent && finished.taped) return std::nullopt;
  return finished;
}

// The latest state that can be made again, before something that cannot.
void Tracer::save_checkpoint() {
  if (nested_ > 0) return;
  Snapshot snapshot = take_snapshot();
  // What the instruction has needed as it is so far is constant in what is described here.
  snapshot.guards = guards_.size();
  if (auto finished = finish(std::move(snapshot))) checkpoint_ = std::move(finished);
}

namespace {

// Ops whose results depend on where in memory an operand lies, beyond the kind of its strides.
bool reads_layout(const jit::Node& node) {
  return node.op != nullptr && (node.is_view() || node.writes() || node.op->lowering == Lowering::Composite);
}

}  // namespace

// The tensors of the graph's inputs: exact layouts where something reads them.
void Tracer::add_tensor_guards(Entry& entry) {
  std::vector<bool> exact(entry.captured.inputs.size());
  bool writes = false;
  for (const jit::Node& node : entry.captured.nodes) {
    writes = writes || (node.writes() && !node.rebinds());
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
    const auto at =
        std::find_if(entry.arguments.begin(), entry.arguments.end(),
                     [&](const Entry::Argument& a) { return a.source == each.source && a.number < 0; });
    if (at == entry.arguments.end()) continue;
    const auto i = static_cast<std::size_t>(at - entry.arguments.begin());
    each.tensor.exact_strides = each.tensor.exact_strides || exact[i] || (writes && shared);
  }
}

// Sizes are what they were in this call, and so are numbers that were sizes.
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
  const bool symbolic =
      !exprs_.symbols.empty() && !untracked_ && (!differentiated || derivatives_follow_sizes(finished));
  auto entry = std::make_unique<Entry>();
  entry->frames.assign(entry_frames_.begin(), entry_frames_.begin() + finished.snapshot.depth);
  entry->owners = owners_;
  if (!finished.snapshot.frames.empty())
    entry->last_code = finished.snapshot.frames.back().function.as<Function>().code;
  guards_.resize(finished.snapshot.guards);
  if (!symbolic) fix_sizes();
  for (Guard& each : guards_) {
    if (each.kind == Guard::Kind::Tensor)
      each.tensor.plain_leaf = differentiated && each.tensor.requires_grad;
  }
  entry->guards = std::move(guards_);
  entry->captured =
      recorder_.take(finished.snapshot.mark, finished.outputs, {symbolic, differentiated, finished.taped});
  for (const Tensor& each : recorder_.inputs()) {
    const auto number = number_inputs_.find(each.impl());
    const bool is_number = number != number_inputs_.end();
    entry->arguments.push_back(
        {is_number ? -1 : known_.at(each.impl()).source, is_number ? number->second : -1});
  }
  entry->effects = std::move(finished.effects);
  entry->taped = finished.taped;
  entry->differentiated = differentiated;
  entry->histories = std::move(finished.histories);
  entry->names = std::move(finished.names);
  entry->names.settle(finished.outputs, recorder_.inputs());
  entry->leaves = std::move(finished.leaves);
  add_tensor_guards(*entry);
  add_memory_guard(*entry);
  add_apart_guards(*entry);
  entry->exprs = std::move(exprs_);
  entry->sources = std::move(sources_);
  entry->recipes = std::move(finished.recipes);
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
