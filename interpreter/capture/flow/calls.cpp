// Calls: of functions of the program, which are read as part of the loop, of ops, and of what the host has
// for numbers.
#include <algorithm>

#include <fmt/format.h>

#include "interpreter/capture/compiled.h"
#include "interpreter/capture/flow/reader.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/members.h"
#include "interpreter/vm/op_entry.h"

namespace kiln::interp::capture {

using Kind = FlowItem::Kind;

namespace {

constexpr std::size_t kDeepestFlowCall = 8;  // calls within calls
constexpr std::size_t kLongest = 400;        // instructions of a function that is read as part of a loop

}  // namespace

// The names of the last arguments of a call.
std::vector<std::string_view> FlowReader::names_of(const CallShape& shape) const {
  std::vector<std::string_view> names;
  for (const CallShape::Item& each : shape.items) {
    if (each.kind != lang::Argument::Kind::Positional && each.kind != lang::Argument::Kind::Named)
      throw Unsupported{"a call with `*`"};
    if (each.kind == lang::Argument::Kind::Named) names.push_back(each.name);
  }
  return names;
}

void FlowReader::call(std::uint32_t base, std::uint32_t count, const std::vector<std::string_view>& names) {
  std::vector<FlowItem> arguments;
  for (std::uint32_t k = 1; k <= count; ++k) arguments.push_back(reg(base + k));
  call_function(base, reg(base), std::move(arguments), names);
}

void FlowReader::call_function(std::uint32_t base, const FlowItem& callee, std::vector<FlowItem> arguments,
                               const std::vector<std::string_view>& names) {
  if (const auto method = method_of(callee, "call")) {
    arguments.insert(arguments.begin(), callee);
    return call_function(base, *method, std::move(arguments), names);
  }
  if (!callee.is(Kind::Known)) throw Unsupported{"a call of " + text_of(callee)};
  if (callee.known.is(Tag::Function)) {
    inputs_.expect_code(callee);
  } else {
    inputs_.expect_same(callee);
  }
  switch (callee.known.tag()) {
    case Tag::Function:
      return enter(callee, bound(callee, std::move(arguments), names));
    case Tag::Native: {
      const Value called = called_by(callee.known);
      if (!called.is(Tag::Native)) throw Unsupported{"a call of " + text_of(callee)};
      if (names.empty() && choose_extreme(base, called.as<Native>().name, arguments)) return;
      reg(base) = call_native(called.as<Native>(), std::move(arguments), names);
      return;
    }
    case Tag::StructType:
      return call_struct(base, callee, std::move(arguments), names);
    case Tag::Type:
      if (!names.empty()) throw Unsupported{"a type is called with names"};
      reg(base) = call_type(callee.known.as<Type>(), std::move(arguments));
      return;
    default:
      throw Unsupported{"a call of " + text_of(callee)};
  }
}

void FlowReader::method_call(std::uint32_t base, std::uint32_t count, const Site& site,
                             const std::vector<std::string_view>& names) {
  std::vector<FlowItem> arguments;
  for (std::uint32_t k = 1; k <= count; ++k) arguments.push_back(reg(base + k));
  const FlowItem receiver = forced(arguments[0]);
  if (receiver.is(Kind::Tensor)) {
    const std::vector<FlowItem> others(arguments.begin() + 1, arguments.end());
    if (host_member(Tag::Tensor, site.name) != nullptr) {
      const auto member = names.empty() ? tensor_member(receiver.tensor, site.name, others) : std::nullopt;
      if (!member) throw Unsupported{fmt::format("`{}` of a tensor", site.name)};
      reg(base) = *member;
      return;
    }
    if (const OpEntry* op = find_op(site.name)) {
      reg(base) = call_op_on(*op, arguments, names);
      return;
    }
  }
  if (receiver.is(Kind::Known) && receiver.known.is(Tag::List) &&
      host_member(Tag::List, site.name) != nullptr) {
    const std::vector<FlowItem> others(arguments.begin() + 1, arguments.end());
    const auto result = names.empty() ? list_method(receiver, site.name, others) : std::nullopt;
    if (!result) throw Unsupported{fmt::format("`{}` of a list", site.name)};
    reg(base) = *result;
    return;
  }
  if (receiver.is(Kind::Known) && receiver.known.is(Tag::Dict) &&
      host_member(Tag::Dict, site.name) != nullptr) {
    const std::vector<FlowItem> others(arguments.begin() + 1, arguments.end());
    const auto result = names.empty() ? dict_method(receiver, site.name, others) : std::nullopt;
    if (!result) throw Unsupported{fmt::format("`{}` of a dict", site.name)};
    reg(base) = *result;
    return;
  }
  if (receiver.is(Kind::Known) && receiver.known.is(Tag::Module)) {
    const FlowItem function = attribute(receiver, site);
    arguments.erase(arguments.begin());
    return call_function(base, function, std::move(arguments), names);
  }
  if (is_struct(receiver) && !field_of(receiver, site.name)) {
    if (const auto method = method_of(receiver, site.name))
      return call_function(base, *method, std::move(arguments), names);
  } else if (is_struct(receiver)) {
    const FlowItem function = attribute(receiver, site);
    arguments.erase(arguments.begin());
    return call_function(base, function, std::move(arguments), names);
  }
  if (const auto function = scope_function(site))
    return call_function(base, *function, std::move(arguments), names);
  throw Unsupported{fmt::format("a call of `{}` of {}", site.name, text_of(receiver))};
}

// A function of the module or of the prelude, where a receiver has no method of that name.
std::optional<FlowItem> FlowReader::scope_function(const Site& site) {
  if (site.local >= 0) return std::nullopt;
  const FlowVariable variable =
      slot(function().module.as<Module>(), static_cast<std::uint32_t>(site.module_slot));
  const FlowItem value = value_of(variable);
  if (!value.known.is_unset()) return value;
  const Value* found = vm_.find_prelude(site.name);
  if (found == nullptr) return std::nullopt;
  inputs_.expect_same(value);
  return FlowItem::at(*found, -1);
}

FlowItem FlowReader::default_of(const FlowItem& callee, std::size_t number) {
  const Value& value = callee.known.as<Function>().defaults[number];
  if (callee.source < 0) return FlowItem::constant(value);
  return FlowItem::at(value, inputs_.part(callee.source, Source::Kind::Default,
                                          static_cast<std::int64_t>(number), "'s default"));
}

// One argument for each parameter. The last arguments have the names that are given.
std::vector<FlowItem> FlowReader::bound(const FlowItem& callee, std::vector<FlowItem> arguments,
                                        const std::vector<std::string_view>& names) {
  const Function& function = callee.known.as<Function>();
  const std::vector<CodeParameter>& parameters = function.code->parameters;
  const std::string text = function.code->name.empty() ? "a function" : "`" + function.code->name + "`";
  const Unsupported misfit{text + " is called in a way that needs binding"};
  if (function.code->plain_arity < 0 || arguments.size() > parameters.size()) throw misfit;
  const std::size_t plain = arguments.size() - names.size();
  std::vector<std::optional<FlowItem>> given(arguments.begin(),
                                             arguments.begin() + static_cast<std::ptrdiff_t>(plain));
  given.resize(parameters.size());
  for (std::size_t n = 0; n < names.size(); ++n) {
    const auto named = std::find_if(parameters.begin(), parameters.end(),
                                    [&](const CodeParameter& each) { return each.name == names[n]; });
    if (named == parameters.end() || given[static_cast<std::size_t>(named - parameters.begin())])
      throw misfit;
    given[static_cast<std::size_t>(named - parameters.begin())] = arguments[plain + n];
  }
  std::vector<FlowItem> all;
  const std::size_t required = parameters.size() - function.defaults.size();
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    if (!given[k] && k < required) throw misfit;
    all.push_back(given[k] ? *given[k] : default_of(callee, k - required));
  }
  return all;
}

// As with graphs of hot callers, a function that the program asked to compile has run by itself before, so
// that its counts tell what became of it.
bool FlowReader::may_join(const Compiled& callee) const {
  const Code& caller = *state_.frames.front().code;
  const bool is_asked_for = caller.compiled && caller.compiled->options.asked_for;
  return is_asked_for || callee.has_joined || callee.hits >= kSettled;
}

void FlowReader::enter(const FlowItem& callee, std::vector<FlowItem> arguments) {
  const Function& function = callee.known.as<Function>();
  const Code& code = *function.code;
  const std::string text = code.name.empty() ? "a function" : "`" + code.name + "`";
  if (!state_.in_call()) {
    const auto apart = knowledge_.calls_apart.find(frame().pc);
    if (apart != knowledge_.calls_apart.end())
      throw Unsupported{"in a call of " + text + ", " + apart->second};
    if (!can_leave(resume_of(state_))) throw Unsupported{text + " is called within an expression"};
  }
  if (code.never_compiled) throw Unsupported{text + " is marked @eager"};
  if (code.compiled && !CompileOptions().compiles_like(code.compiled->options))
    throw Unsupported{text + " is compiled with options of its own"};
  if (code.compiled && code.compiled->options.asked_for && !may_join(*code.compiled))
    throw Unsupported{text + " runs by its own entries at first, since the program asked to compile it"};
  const bool calls_itself = std::any_of(state_.frames.begin(), state_.frames.end(),
                                        [&code](const FlowFrame& each) { return each.code == &code; });
  if (calls_itself) throw Unsupported{text + " calls itself"};
  if (state_.frames.size() > kDeepestFlowCall || code.instructions.size() > kLongest)
    throw Unsupported{text + " is too long to be part of a loop"};
  if (code.is_whole) throw Unsupported{text + " runs apart"};
  refuse_iterators(arguments);
  FlowFrame inner;
  inner.code = &code;
  inner.function = callee;
  inner.registers = std::move(arguments);
  inner.registers.resize(code.registers);
  for (std::size_t r = code.parameters.size(); r < code.locals; ++r)
    inner.registers[r] = FlowItem::at(Value::unset(), -1);
  if (!state_.in_call()) {
    state_.wrote = false;
    state_.fresh_since = notes_.now();
    state_.variables_before = state_.variables;
  }
  state_.frames.push_back(std::move(inner));
}

void FlowReader::return_value(FlowItem value) {
  if (!state_.in_call()) return leave("the function returns");
  state_.frames.pop_back();
  const Instruction& call = at();
  reg(call.a) = std::move(value);
  ++frame().pc;
  if (!state_.in_call()) {
    if (state_.wrote) replay_.reset();
    state_.wrote = false;
    state_.variables_before.clear();
    state_.registers_before.clear();
  }
  // A function with several ways goes on in one.
  if (place_->entry.frames.size() > state_.frames.size()) go_to(frame().pc);
}

}  // namespace kiln::interp::capture
