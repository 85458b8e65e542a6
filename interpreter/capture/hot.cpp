#include "interpreter/capture/hot.h"

#include <algorithm>
#include <utility>

#include "interpreter/vm/impl.h"

namespace kiln::interp::capture {
namespace {

// The same function with its own copy of the code, whose first instruction is a mark.
Value with_code(const Value& f, const std::function<void(Code&)>& change) {
  const Function& from = f.as<Function>();
  auto code = std::make_shared<Code>(*from.code);
  for (std::size_t pc = 0; pc < code->instructions.size(); ++pc) code->unmark(pc);
  code->compiled = nullptr;
  code->never_compiled = false;
  code->trips = 0;
  change(*code);
  auto* made = new Function(code.get(), code);
  Value result{static_cast<Object*>(made)};
  made->module = from.module;
  made->captures = from.captures;
  made->defaults = from.defaults;
  return result;
}

// f itself if it is a function of the program, else such a function that calls f.
Value as_function(Interpreter& interpreter, const Value& given) {
  const Value& f = called_by(given);
  if (f.is(Tag::Function)) return f;
  const Value* forward = interpreter.impl().modules.prelude_value("forwarding_function");
  return interpreter.call(*forward, {f});
}

}  // namespace

namespace {

// The compiled states of all code that still exist.
std::vector<std::weak_ptr<Compiled>>& compiled_code() {
  static auto* const all = new std::vector<std::weak_ptr<Compiled>>();
  return *all;
}

void make_compiled(const Code& code, CompileOptions options) {
  if (code.compiled) return;
  code.compiled = std::make_shared<Compiled>();
  code.compiled->options = std::move(options);
  code.compiled->own = &code;
  // Expired ones are erased each time that the number has doubled.
  static std::size_t most = 64;
  std::vector<std::weak_ptr<Compiled>>& all = compiled_code();
  if (all.size() >= most) {
    std::erase_if(all, [](const std::weak_ptr<Compiled>& each) { return each.expired(); });
    most = std::max<std::size_t>(64, 2 * all.size());
  }
  all.push_back(code.compiled);
}

}  // namespace

void Place::visit_references(ReferenceVisitor& visitor) const {
  interp::visit_references(entries, visitor);
  interp::visit_references(unrolled, visitor);
  varying.visit_references(visitor);
}

void Compiled::visit_references(ReferenceVisitor& visitor) const {
  options.visit_references(visitor);
  for (const auto& [at, place] : places) interp::visit_references(place, visitor);
  for (const auto& [top, place] : flows) interp::visit_references(place, visitor);
}

bool any_compiled(const std::function<bool(const Compiled&)>& is) {
  const auto& all = compiled_code();
  return std::any_of(all.begin(), all.end(), [&](const std::weak_ptr<Compiled>& each) {
    const std::shared_ptr<Compiled> alive = each.lock();
    return alive != nullptr && is(*alive);
  });
}

void forget_entries() {
  for (const std::weak_ptr<Compiled>& each : compiled_code()) {
    const std::shared_ptr<Compiled> alive = each.lock();
    if (!alive) continue;
    alive->in_order.clear();
    const auto flows = std::exchange(alive->flows, {});
    const auto places = std::move(alive->places);  // releasing them may free the code itself
    alive->places.clear();
    alive->options.own_backend = Value();
    alive->options.own_passes.clear();
  }
  compiled_code().clear();
}

void reset(Compiled& compiled) {
  for (const auto& [top, place] : compiled.flows) compiled.own->unmark(top);
  Compiled fresh;
  fresh.options = compiled.options;
  fresh.own = compiled.own;
  fresh.from_start = compiled.from_start;
  fresh.loops = compiled.loops;
  fresh.has_joined = compiled.has_joined;
  fresh.stays_apart = compiled.stays_apart;
  std::swap(compiled, fresh);
  // The marks of what was given up are gone.
  if (compiled.from_start) compiled.own->mark(0);
  for (const std::size_t top : compiled.loops) compiled.own->mark(top);
}

void reset_all() {
  for (const std::weak_ptr<Compiled>& each : std::vector(compiled_code())) {
    if (const std::shared_ptr<Compiled> alive = each.lock()) reset(*alive);
  }
}

bool compile_from_now_on(const Code& code, CompileOptions options) {
  if (code.never_compiled || code.instructions.empty() || (code.compiled && code.compiled->from_start))
    return false;
  make_compiled(code, std::move(options));
  code.compiled->from_start = true;
  code.mark(0);
  return true;
}

bool compile_loop_from_now_on(const Code& code, std::size_t top, CompileOptions options) {
  if (code.never_compiled) return false;
  make_compiled(code, std::move(options));
  std::vector<std::size_t>& loops = code.compiled->loops;
  if (std::count(loops.begin(), loops.end(), top) > 0) return false;
  loops.push_back(top);
  code.mark(top);
  return true;
}

std::shared_ptr<FlowPlace> follow_from_now_on(const Code& code, std::size_t top, CompileOptions options) {
  if (code.never_compiled || code.loops().at(top) == nullptr) return nullptr;
  make_compiled(code, std::move(options));
  if (!allows_flows(code.compiled->options)) return nullptr;
  std::shared_ptr<FlowPlace>& place = code.compiled->flows[top];
  if (!place) place = std::make_shared<FlowPlace>();
  place->rests = false;
  if (place->given_up.empty()) code.mark(top);
  return place;
}

std::shared_ptr<FlowPlace> followed_at(const Code& code, std::size_t top) {
  if (!code.compiled) return nullptr;
  const auto found = code.compiled->flows.find(top);
  return found == code.compiled->flows.end() ? nullptr : found->second;
}

bool needs_mark(const Code& code, std::size_t top) {
  const std::shared_ptr<FlowPlace> place = followed_at(code, top);
  return place != nullptr && place->given_up.empty() && !place->rests;
}

Value recompiled(Interpreter& interpreter, const Value& function, const CompileOptions& options) {
  return with_code(as_function(interpreter, function),
                   [&](Code& code) { compile_from_now_on(code, options); });
}

Value never_compiled(Interpreter& interpreter, const Value& function) {
  return with_code(as_function(interpreter, function), [](Code& code) { code.never_compiled = true; });
}

Value uninterrupted(Interpreter& interpreter, const Value& function) {
  const Value f = as_function(interpreter, function);
  return with_code(f, [&](Code& code) {
    code.never_compiled = f.as<Function>().code->never_compiled;
    code.is_whole = true;
  });
}

}  // namespace kiln::interp::capture

namespace kiln::interp {

void Code::visit_references(ReferenceVisitor& visitor) const { interp::visit_references(compiled, visitor); }

}  // namespace kiln::interp
