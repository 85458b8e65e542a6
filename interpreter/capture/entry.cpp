#include "interpreter/capture/entry.h"

#include <algorithm>

#include "interpreter/interpreter.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/vm.h"
#include "tensor/autocast.h"
#include "tensor/autograd.h"
#include "tensor/collective.h"
#include "tensor/interrupt.h"
#include "tensor/random.h"

namespace kiln::interp::capture {

bool Entry::begins_at(const Frame* innermost, const Frame* base) const {
  if (innermost - base + 1 < exit.depth) return false;
  if (exit.returns && innermost - exit.depth + 1 != base) return false;
  for (std::size_t k = 0; k < frames.size(); ++k) {
    const Frame& frame = innermost[-static_cast<std::ptrdiff_t>(k)];
    if (frame.code != frames[k].first || frame.place() != frames[k].second) return false;
  }
  return true;
}

void Entry::visit_references(ReferenceVisitor& visitor) const {
  interp::visit_references(owners, visitor);
  sources.visit_references(visitor);
  interp::visit_references(guards, visitor);
  varying.visit_references(visitor);
  interp::visit_references(exprs.all, visitor);
  interp::visit_references(callable, visitor);
  interp::visit_references(frame_plan, visitor);
  interp::visit_references(effects, visitor);
  interp::visit_references(recorded, visitor);
  interp::visit_references(given, visitor);
  for (const jit::Node& node : captured.nodes) interp::visit_references(node.constant, visitor);
}

jit::Graph Entry::with_guards() const {
  jit::Graph graph = captured;
  for (const Guard& each : guards) graph.guards.push_back(each.text(sources, exprs));
  return graph;
}

std::vector<bool> Entry::wanted_inputs() const {
  std::vector<bool> wanted(arguments.size(), false);
  const bool records = std::any_of(guards.begin(), guards.end(), [](const Guard& each) {
    return each.kind == Guard::Kind::Modes && each.value.as_bool();
  });
  if (!records || !taped) return wanted;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    wanted[i] = std::any_of(guards.begin(), guards.end(), [&](const Guard& each) {
      return each.kind == Guard::Kind::Tensor && each.source == arguments[i].source &&
             arguments[i].number < 0 && each.tensor.requires_grad;
    });
  }
  return wanted;
}

const Guard* Entry::failing(SourceValues& found, Numbers& numbers) const {
  for (const Guard& each : guards) {
    if (!each.holds(found, numbers)) return &each;
  }
  return nullptr;
}

namespace {

void set_contents(const Value& target, const HostEffect& effect, const Values& values) {
  const auto part = [&](std::size_t k) -> const Value& {
    return values[static_cast<std::size_t>(effect.parts[k])];
  };
  if (target.is(Tag::List)) {
    std::vector<Value> items;
    for (std::size_t k = 0; k < effect.parts.size(); ++k) items.push_back(part(k));
    target.as<List>().items.swap(items);
    return;
  }
  Dict& dict = target.as<Dict>();
  dict.clear();
  for (std::size_t k = 0; k < effect.parts.size(); k += 2) dict.set(part(k), part(k + 1));
}

void set_extra(Instance& instance, const std::string& name, Value value) {
  if (Value* extra = instance.find(name)) {
    extra->swap(value);
  } else {
    instance.extra.emplace_back(name, std::move(value));
  }
}

void carry_out(Vm& vm, const HostEffect& effect, const Value& target, const Values& values) {
  using Kind = HostEffect::Kind;
  const auto part = [&](std::size_t k) -> const Value& {
    return values[static_cast<std::size_t>(effect.parts[k])];
  };
  const auto at = static_cast<std::size_t>(effect.number);
  switch (effect.kind) {
    case Kind::Slot:
      target.as<Module>().slots[at] = Value(part(0));
      return;
    case Kind::Cell:
      target.as<Cell>().value = Value(part(0));
      return;
    case Kind::Field:
      target.as<Instance>().fields[at] = Value(part(0));
      return;
    case Kind::Extra:
      return set_extra(target.as<Instance>(), effect.name, part(0));
    case Kind::Grad:
      return set_grad(target.tensor(), part(0).is_none() ? Tensor() : part(0).tensor());
    case Kind::Append:
      for (std::size_t k = 0; k < effect.parts.size(); ++k) target.as<List>().items.push_back(part(k));
      return;
    case Kind::Contents:
      return set_contents(target, effect, values);
    case Kind::Call: {
      std::vector<Value> arguments;
      std::vector<NamedArgument> named;
      for (std::size_t k = 0; k < effect.parts.size(); ++k) arguments.push_back(part(k));
      for (const auto& [name, id] : effect.named)
        named.push_back({name, values[static_cast<std::size_t>(id)]});
      vm.interpreter().call(effect.function, arguments, named);
      return;
    }
  }
}

// Runs the graph. If it fails, restores random numbers, so that the interpreter can run the code again. What
// was begun with other ranks cannot be begun again: then the error is that of the call.
Tensors run_or_restore(const Runner& run, Inputs arguments, const SymbolValues& symbols, bool& done) {
  const kiln::Generator before = generator();
  const std::uint64_t starts = count_of_starts();
  try {
    return run(arguments, symbols);
  } catch (const OpError&) {
    if (count_of_starts() != starts) throw;
    generator() = before;
    done = false;
    return {};
  }
}

}  // namespace

bool Entry::gather(SourceValues& found, Numbers& numbers, Arguments& tensors, SymbolValues& symbols) const {
  for (const Argument& each : arguments)
    tensors.push_back(each.number >= 0 ? number_as_operand(numbers[each.number])
                                       : found[each.source]->tensor());
  return captured.hints.empty() || numbers.symbols(captured.hints, symbols);
}

bool Entry::apply(Vm& vm, SourceValues& found, Numbers& numbers) const {
  Tensors outputs;
  if (run) {
    Arguments tensors;
    SymbolValues symbols;
    bool done = gather(found, numbers, tensors, symbols);
    const GradMode mode(grad_enabled() && taped);
    const autocast::Off off;
    const std::uint64_t began = names.empty() ? 0 : tape::next_sequence();
    if (done) outputs = run_or_restore(run, tensors, symbols, done);
    if (!done) return false;
    if (!names.empty()) names.give(outputs, tensors, began);
    origins.give(outputs, symbols);
    views.give(outputs, captured.hints.empty());
    views.give_arguments(tensors);
  }
  if (!histories.empty()) {
    Tensors behind;
    for (const SourceId each : leaves) behind.push_back(found[each]->tensor());
    histories.give(outputs, behind);
  }
  const Values values = make_values(frame_plan, found, numbers, outputs);
  const HeldInterrupts whole;  // the graph has written, and the rest of the call's effects must follow
  // Targets are looked up before any is changed.
  SmallVector<Value, 4> targets;
  for (const HostEffect& each : effects) targets.push_back(each.target < 0 ? Value() : *found[each.target]);
  Value* const at = vm.frame()[1 - exit.depth].base - 1;
  vm.replace_frames(exit, values);
  Value result;  // effects that call functions overwrite its register
  if (exit.returns) result.take(*at);
  for (std::size_t k = 0; k < effects.size(); ++k) carry_out(vm, effects[k], targets[k], values);
  if (exit.returns) at->take(result);
  return true;
}

}  // namespace kiln::interp::capture
