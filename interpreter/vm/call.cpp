#include "interpreter/vm/call.h"

#include <algorithm>
#include <array>

#include "interpreter/values/collector.h"
#include "interpreter/values/graph_value.h"
#include "interpreter/values/hooked_call.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/custom_function.h"
#include "interpreter/vm/errors.h"
#include "interpreter/vm/generator.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/members.h"
#include "interpreter/vm/operators.h"
#include "interpreter/vm/parameters.h"

namespace kiln::interp {
namespace {

// Receivers that may be put in front of arguments in registers (compiler.cpp, kCallSlack).
constexpr int kMaxReceivers = 2;

void insert_receiver(Value* callee, std::uint32_t count, Value receiver, Value function) {
  for (std::uint32_t i = count; i > 0; --i) callee[i + 1].take(callee[i]);
  callee[1].take(receiver);
  callee[0].take(function);
}

void remove_receiver(Value* callee, std::uint32_t count) {
  callee[1].clear();
  for (std::uint32_t i = 1; i < count; ++i) callee[i].take(callee[i + 1]);
}

[[noreturn]] void not_callable(const Value& v) {
  std::string help;
  if (v.is(Tag::Instance)) {
    help = "give `" + std::string(type_name(v)) + "` a method `call`";
  }
  if (v.is_number()) help = "a product is written with its sign: `x * y`";
  raise("TypeError", describe(v) + " cannot be called", help);
}

Arguments collect(Value* first, std::uint32_t count) {
  Arguments arguments;
  arguments.positional.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) arguments.positional[i].take(first[i]);
  return arguments;
}

// What stands behind a callee: bound methods, types and instances become functions or natives, with the
// receiver put in front. False for what cannot be called.
bool simplify(Value& callee, Value& receiver) {
  switch (callee.tag()) {
    case Tag::Method: {
      const Value method = callee;
      receiver = method.as<Method>().receiver;
      callee = method.as<Method>().function;
      return true;
    }
    case Tag::Instance: {
      const Value* call = called_of(callee.as<Instance>());
      if (!call) return false;
      const Value function = *call;
      receiver = callee;
      callee = function;
      return true;
    }
    case Tag::Opaque:
      for (const auto& [name, method] : callee.as<Opaque>().methods) {
        if (name != "call") continue;
        const Value function = method;
        receiver = callee;
        callee = function;
        return true;
      }
      return false;
    default:
      return false;
  }
}

}  // namespace

bool Vm::begin_call(Value* callee, std::uint32_t count) {
  for (int receivers = 0;; ++receivers) {
    switch (callee->tag()) {
      case Tag::Function:
        return begin_function(callee, count);
      case Tag::Native: {
        const Native& native = callee->as<Native>();
        if (!native.stands_for.is_none()) [[unlikely]] {
          const Value function = called_by(*callee);
          callee->assign(function);
          continue;
        }
        call_native(native, callee, count);
        return false;
      }
      case Tag::Type:
        if (!callee->as<Type>().constructor.is(Tag::Native)) not_callable(*callee);
        call_native(callee->as<Type>().constructor.as<Native>(), callee, count);
        return false;
      case Tag::Graph: {
        Value value = call_graph(interpreter_, *callee, {callee + 1, count});
        for (std::uint32_t i = 1; i <= count; ++i) callee[i].clear();
        callee->take(value);
        return false;
      }
      case Tag::StructType:
        return begin_struct(callee, count);
      default:
        break;
    }
    if (receivers == kMaxReceivers) {
      Arguments arguments = collect(callee + 1, count);
      return begin_call(callee, *callee, arguments);
    }
    Value function = *callee;
    Value receiver;
    if (!simplify(function, receiver)) not_callable(*callee);
    insert_receiver(callee, count, std::move(receiver), std::move(function));
    ++count;
  }
}

bool Vm::begin_function(Value* callee, std::uint32_t count) {
  const auto& function = callee->as<Function>();
  const std::int32_t arity = function.code->plain_arity;
  const auto defaults = static_cast<std::int32_t>(function.defaults.size());
  const auto given = static_cast<std::int32_t>(count);
  if (given <= arity && given + defaults >= arity) {
    if (callee + 1 + function.code->registers > stack_end_) recursion_error();
    for (std::int32_t i = given; i < arity; ++i) {
      callee[1 + i].assign(function.defaults[static_cast<std::size_t>(i - (arity - defaults))]);
    }
    enter(frame_, function, callee + 1);
    return true;
  }
  Arguments arguments = collect(callee + 1, count);
  return begin_bound(callee, function, arguments);
}

bool Vm::begin_bound(Value* callee, const Function& function, Arguments& arguments) {
  if (callee + 1 + function.code->registers > stack_end_) recursion_error();
  std::vector<Value> bound(function.code->parameters.size());
  bind_function(function, arguments, bound.data());
  for (std::size_t i = 0; i < bound.size(); ++i) callee[1 + i].take(bound[i]);
  enter(frame_, function, callee + 1);
  return true;
}

bool Vm::begin_call(Value* result, Value callee, Arguments& arguments) {
  for (;;) {
    switch (callee.tag()) {
      case Tag::Function:
        result->assign(callee);
        return begin_bound(result, result->as<Function>(), arguments);
      case Tag::Native: {
        if (!callee.as<Native>().stands_for.is_none()) {
          const Value function = called_by(callee);
          callee = function;
          continue;
        }
        Value value = call_native_with(interpreter_, callee.as<Native>(), arguments);
        result->take(value);
        Collector::collect_if_due();
        return false;
      }
      case Tag::Type: {
        const Value constructor = callee.as<Type>().constructor;
        if (!constructor.is(Tag::Native)) not_callable(callee);
        callee = constructor;
        continue;
      }
      case Tag::StructType:
        return begin_new(result, callee, arguments);
      case Tag::Graph: {
        if (!arguments.named.empty()) {
          raise("TypeError", "a graph takes its arguments by position", "see the `inputs` of the graph");
        }
        Value value = call_graph(interpreter_, callee, arguments.positional);
        result->take(value);
        return false;
      }
      default:
        break;
    }
    Value receiver;
    const Value before = callee;
    if (!simplify(callee, receiver)) not_callable(before);
    arguments.positional.insert(arguments.positional.begin(), std::move(receiver));
  }
}

bool Vm::begin_new(Value* result, const Value& type, Arguments& arguments) {
  if (type.as<StructType>().is_autograd) {
    Value value = call_autograd(interpreter_, type, arguments);
    result->take(value);
    return false;
  }
  Value instance = new_instance(type);
  const Value* init = type.as<StructType>().method("init");
  if (!init) {
    bind_fields(type.as<StructType>(), arguments, instance.as<Instance>());
    mark_parameters(instance.as<Instance>());
    result->take(instance);
    return false;
  }
  arguments.positional.insert(arguments.positional.begin(), instance);
  if (init->is(Tag::Function) && init->as<Function>().code->is_init)
    return begin_call(result, *init, arguments);
  call(*init, std::move(arguments));
  mark_parameters(instance.as<Instance>());
  result->take(instance);
  return false;
}

bool Vm::begin_struct(Value* callee, std::uint32_t count) {
  Collector::collect_if_due();
  const auto& type = callee->as<StructType>();
  const Value* init = type.method("init");
  if (init && init->is(Tag::Function) && init->as<Function>().code->is_init) {
    insert_receiver(callee, count, new_instance(*callee), *init);
    return begin_function(callee, count + 1);
  }
  Arguments arguments = collect(callee + 1, count);
  const Value keep = *callee;
  return begin_new(callee, keep, arguments);
}

namespace {

// Parameters of host functions that are bound without a heap.
constexpr std::size_t kFewParameters = 8;

// True when the arguments are those of the first parameters, and the others have defaults.
bool needs_no_binding(std::span<const NativeParameter> parameters, std::size_t count) {
  using Kind = NativeParameter::Kind;
  if (count > parameters.size() || parameters.size() > kFewParameters) return false;
  if (!parameters.empty() && parameters.back().kind != Kind::Normal) return false;
  return std::none_of(parameters.begin() + static_cast<std::ptrdiff_t>(count), parameters.end(),
                      [](const NativeParameter& p) { return p.required || p.kind != Kind::Normal; });
}

// The arguments stay in place for an error's labels.
Value bind_and_call(Interpreter& interpreter, const Native& native, std::span<Value> arguments) {
  const std::vector<NativeParameter>& parameters = native.parameters;
  if (!needs_no_binding(parameters, arguments.size())) {
    Arguments written;
    written.positional.assign(arguments.begin(), arguments.end());
    std::vector<Value> bound = bind_native(native, written);
    return native.call(interpreter, bound);
  }
  std::array<Value, kFewParameters> bound;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    bound[i] = i < arguments.size() ? arguments[i] : parameters[i].default_value;
  }
  return native.call(interpreter, std::span(bound.data(), parameters.size()));
}

// `max(2, 3)` has the name of an op, and makes no code hot.
bool is_of_tensors(const Value& result, std::span<const Value> arguments) {
  const auto is_tensor = [](const Value& v) { return v.is(Tag::Tensor); };
  return is_tensor(result) || std::any_of(arguments.begin(), arguments.end(), is_tensor);
}

}  // namespace

// Calls callee[1] … callee[count]'s function; the result goes to callee[0], whatever is there.
void Vm::call_native(const Native& native, Value* callee, std::uint32_t count) {
  const std::span<Value> arguments(callee + 1, count);
  if (watcher_ != nullptr) [[unlikely]]
    watcher_->enters(native, arguments, {});
  Value result = native.direct && native.direct_arity == count ? native.direct(interpreter_, arguments)
                 : native.unbound ? native.unbound(interpreter_, native, arguments, {})
                                  : bind_and_call(interpreter_, native, arguments);
  if (native.unbound != nullptr && is_of_tensors(result, arguments)) count_op();
  for (std::uint32_t i = 1; i <= count; ++i) callee[i].clear();
  callee->take(result);
  Collector::collect_if_due();
  Generator::close_left(*this);
}

bool Vm::begin_method_call(Value* callee, std::uint32_t count, Site& site) {
  const Value& receiver = callee[1];
  if (receiver.tag() == site.tag) [[likely]] {
    switch (site.kind) {
      case Site::Kind::StructMethod:
        if (receiver.as<Instance>().struct_type().id != site.struct_id) break;
        if (!receiver.as<Instance>().extra.empty() && receiver.as<Instance>().find(site.name)) break;
        callee->assign(*site.found);
        return begin_call(callee, count);
      case Site::Kind::HostMethod:
        call_native(site.found->as<Native>(), callee, count);
        return false;
      case Site::Kind::Op: {
        count_op();
        Value result = call_op(interpreter_, *static_cast<const OpEntry*>(site.op), {callee + 1, count});
        for (std::uint32_t i = 1; i <= count; ++i) callee[i].clear();
        callee->take(result);
        return false;
      }
      default:
        break;
    }
  }
  if (resolve_method(callee, count, site)) return begin_call(callee, count);
  return false;
}

namespace {

// A field or method of the receiver itself: put into `function`. True when the receiver stays as first
// argument.
enum class MemberKind : std::uint8_t { None, Value, Method };

MemberKind find_in_receiver(Interpreter& interpreter, const Value& receiver, std::string_view name,
                            Value& function) {
  switch (receiver.tag()) {
    case Tag::Instance: {
      auto& instance = receiver.as<Instance>();
      if (const Value* field = instance.find(name)) return function = *field, MemberKind::Value;
      if (const Value* method = instance.struct_type().method(name))
        return function = *method, MemberKind::Method;
      break;
    }
    case Tag::Module: {
      const Value* found = interpreter.impl().modules.value_in(receiver.as<Module>(), name);
      if (!found) no_member(receiver, name);
      return function = *found, MemberKind::Value;
    }
    case Tag::StructType:
      if (const Value* method = receiver.as<StructType>().method(name))
        return function = *method, MemberKind::Value;
      break;
    case Tag::Opaque:
      for (const auto& [method, native] : receiver.as<Opaque>().methods) {
        if (method == name) return function = native, MemberKind::Method;
      }
      break;
    default:
      break;
  }
  if (const HostMember* member = host_member(receiver.tag(), name)) {
    // The parts of a complex number may be written as calls, as those of tensors are.
    const bool is_part = member->is_field && receiver.is(Tag::Complex);
    if (!member->is_field || is_part) return function = member->native, MemberKind::Method;
    function = get_attribute(interpreter, receiver, name);
    return MemberKind::Value;
  }
  return MemberKind::None;
}

// A function of the scope by the name of the method: local, module's, prelude's.
bool find_in_scope(Vm& vm, const Site& site, Value& function) {
  const Frame& frame = *vm.frame();
  if (site.local >= 0) {
    const Value& local = frame.base[site.local];
    const Value& value = site.local_is_cell && local.is(Tag::Cell) ? local.as<Cell>().value : local;
    const bool callable = value.is(Tag::Function) || value.is(Tag::Native) || value.is(Tag::Method) ||
                          value.is(Tag::StructType) || value.is(Tag::Type) || value.is(Tag::Instance) ||
                          value.is(Tag::Graph);
    if (callable) return function = value, true;
  }
  if (const Value& value = frame.module().slots[site.module_slot]; !value.is_unset())
    return function = value, true;
  if (const Value* value = vm.find_prelude(site.name)) return function = *value, true;
  return false;
}

// The functions of the program that a uniform call could mean here.
std::vector<std::string> functions_in_scope(const Frame& frame) {
  std::vector<std::string> names;
  const Module& module = frame.module();
  for (std::size_t i = 0; i < module.slots.size(); ++i) {
    if (module.slots[i].is(Tag::Function)) names.push_back(module.names[i]);
  }
  const auto locals = frame.code->function->locals;
  for (std::size_t i = 0; i < locals.size(); ++i) {
    if (frame.base[i].is(Tag::Function)) names.emplace_back(locals[i]);
  }
  return names;
}

void remember(Site& site, const Value& receiver, MemberKind found) {
  site.kind = Site::Kind::Empty;
  if (found != MemberKind::Method) return;
  if (receiver.is(Tag::Instance)) {
    const StructType& type = receiver.as<Instance>().struct_type();
    // A field of this name, set later, would come first; declared methods shadow nothing.
    if (const Value* method = type.method(site.name);
        method && type.field(site.name) < 0 && method->is(Tag::Function)) {
      site.kind = Site::Kind::StructMethod;
      site.struct_id = type.id;
      site.found = method;
    }
  } else if (const HostMember* member = host_member(receiver.tag(), site.name); member && !member->is_field) {
    site.kind = Site::Kind::HostMethod;
    site.found = &member->native;
  }
  site.tag = receiver.tag();
}

}  // namespace

// Puts what is to be called into `callee`. False when an op was called right away.
bool Vm::resolve_method(Value* callee, std::uint32_t& count, Site& site) {
  if (callee[1].is(Tag::Tensor) && find_op_method(callee[1], site)) {
    begin_method_call(callee, count, site);
    return false;
  }
  Value function;
  const bool with_receiver = find_method(callee[1], site, function);
  callee->take(function);
  if (!with_receiver) remove_receiver(callee, count--);
  return true;
}

// Tensors have few fields and methods of their own; all else is an op.
bool Vm::find_op_method(const Value& receiver, Site& site) {
  if (host_member(receiver.tag(), site.name)) return false;
  const OpEntry* op = find_op(site.name);
  if (!op) return false;
  site.kind = Site::Kind::Op;
  site.tag = Tag::Tensor;
  site.op = op;
  return true;
}

bool Vm::find_method(const Value& receiver, Site& site, Value& function) {
  const MemberKind found = find_in_receiver(interpreter_, receiver, site.name, function);
  remember(site, receiver, found);
  if (found != MemberKind::None) return found == MemberKind::Method;
  if (receiver.is(Tag::Tensor) && find_op(site.name)) {
    function = get_attribute(interpreter_, receiver, site.name).as<Method>().function;
    return true;
  }
  if (!find_in_scope(*this, site, function)) no_member(receiver, site.name, functions_in_scope(*frame_));
  return true;
}

bool Vm::begin_host_call(Value* base, Value callee, Arguments& arguments) {
  check_native_stack();
  if (base >= stack_end_) recursion_error();
  try {
    return begin_call(base, std::move(callee), arguments);
  } catch (const ArgumentError& error) {
    throw lang::UserError(error.diagnostic());  // not of arguments that stand in the program
  }
}

Value Vm::call(Value callee, Arguments arguments) {
  Value* const base = free_registers();
  if (begin_host_call(base, std::move(callee), arguments)) execute(frame_);
  Value result;
  result.take(*base);
  return result;
}

}  // namespace kiln::interp
