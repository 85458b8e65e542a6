// The look at calls.
#include <algorithm>

#include "interpreter/capture/compiled.h"
#include "interpreter/capture/observe.h"
#include "interpreter/values/graph_value.h"
#include "interpreter/values/hooked_call.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/context.h"
#include "interpreter/vm/kept_place.h"
#include "interpreter/vm/members.h"
#include "interpreter/vm/op_entry.h"
#include "interpreter/vm/parameters.h"
#include "interpreter/vm/storage_methods.h"

namespace kiln::interp::capture {

namespace {

// Are gradients asked for by an entry of `**named`?
bool names_gradients(const CallShape::Item& item, const Value& argument) {
  if (item.kind != lang::Argument::Kind::DoubleStar || !argument.is(Tag::Dict)) return false;
  const auto& entries = argument.as<Dict>().entries();
  return std::any_of(entries.begin(), entries.end(), [](const Dict::Entry& each) {
    return each.live && each.key.is(Tag::Str) && each.key.as<Str>().text == "requires_grad" &&
           !each.value.is_none();
  });
}

// `tensor(data, dtype, device, requires_grad)` by position.
bool makes_leaf(std::span<const Value> arguments) {
  return arguments.size() > 3 && arguments[3].is(Tag::Bool) && arguments[3].as_bool();
}

}  // namespace

void Observer::call() { callee(r_[i_.a], {r_ + i_.a + 1, i_.b}, true); }

void Observer::spread_call(bool method) {
  const CallShape& shape = frame_.code->shapes[i_.c];
  const std::span<const Value> arguments(r_ + i_.a + 1, i_.b);
  for (std::size_t k = 0; k < shape.items.size() && k < arguments.size(); ++k) {
    const std::size_t at = k + (method ? 1 : 0);
    if (at < arguments.size() && shape.items[k].name == "requires_grad" && !arguments[at].is_none())
      return tracer_.stop("gradients are asked for");
    if (at < arguments.size() && names_gradients(shape.items[k], arguments[at]))
      return tracer_.stop("gradients are asked for");
    if (at < arguments.size() && (shape.items[k].kind == lang::Argument::Kind::Star ||
                                  shape.items[k].kind == lang::Argument::Kind::DoubleStar))
      iterable(arguments[at]);
  }
  if (method) return method_call(i_.b, frame_.code->sites[shape.site]);
  callee(r_[i_.a], arguments, false);
}

void Observer::callee(const Value& given, std::span<const Value> arguments, bool positional) {
  // One that stands for another function is known by identity, and so is that one.
  const Value& f = called_by(given);
  if (&f != &given && tracer_.is_outside(given)) tracer_.know_constant(f);
  switch (f.tag()) {
    case Tag::Function: {
      const auto& function = f.as<Function>();
      if (function.code->never_compiled)
        return tracer_.stop("`" + function.code->name + "` is marked @eager");
      if (const auto& own = function.code->compiled; own && own->options.asked_for) {
        const Compiled& caller = *tracer_.base_->code->compiled;
        if (!caller.inlines(*own)) {
          tracer_.awaits_ = own;
          return tracer_.stop("`" + function.code->name + "` is compiled by itself", End::Yield);
        }
        if (caller.is_hot()) {
          own->has_joined = true;
          tracer_.inlined_.push_back(own);
        }
      }
      const Tracer::OutsideValue* outside = tracer_.known(f);
      const bool uses_defaults =
          !positional || static_cast<std::int32_t>(arguments.size()) != function.code->plain_arity;
      if (outside && uses_defaults) tracer_.read_defaults(f);
      return;
    }
    case Tag::Native: {
      const Native& native = f.as<Native>();
      if (native.unbound != nullptr && is_op(native.name)) return op_call(arguments);
      return host(rule_of_function(native.name), native.name, arguments, &f);
    }
    case Tag::Type:
      if (f.as<Type>().instances == Tag::Error) return tracer_.stop("an error is thrown");
      if (f.as<Type>().instances == Tag::Tensor && makes_leaf(arguments))
        return tracer_.stop("gradients are asked for");
      return host(rule_of_type(f.as<Type>().name), f.as<Type>().name, arguments, nullptr);
    case Tag::StructType: {
      const StructType& type = f.as<StructType>();
      if (!type.is_autograd && type.method("init") == nullptr &&
          std::any_of(arguments.begin(), arguments.end(), holds_trained_leaf))
        return tracer_.stop("a struct with parameters is made");
      if (type.is_autograd) {
        tracer_.know_methods(f);
        tracer_.save_checkpoint();  // before the numbers in the arguments are fixed
        for (const Value& each : arguments) tracer_.fix_kept(each);
        return;
      }
      for (const auto& value : type.defaults) {
        if (!value || !value->is_counted()) continue;
        tracer_.know_constant(*value);
        tracer_.read_all(*value);  // each instance gets a copy
      }
      tracer_.know_methods(f);
      return;
    }
    case Tag::Method: {
      const Method& method = f.as<Method>();
      if (const Tracer::OutsideValue* outside = tracer_.known(f)) {
        const SourceId source = outside->source;
        tracer_.arrive_part(method.receiver, source, Source::Kind::Receiver, 0, {}, tracer_.item_name(f, ""));
        tracer_.arrive_part(method.function, source, Source::Kind::Method, 0, {}, tracer_.item_name(f, ""));
      }
      tracer_.know_methods(method.receiver);
      if (!method.function.is(Tag::Native)) return callee(method.function, arguments, false);
      const Native& native = method.function.as<Native>();
      if (native.unbound != nullptr && is_op(native.name)) return op_call(arguments);
      std::vector<Value> all{method.receiver};
      all.insert(all.end(), arguments.begin(), arguments.end());
      return host(rule_of_method(method.receiver.tag(), native.name), native.name, all, &method.function);
    }
    case Tag::Graph:
      know_bound(f);
      op_call(arguments);
      return fix_numbers_in(arguments);
    case Tag::Instance: {
      const Value* hooked = nullptr;
      if (field_of(f, kHookedCall, hooked) && !hooked->is_none()) return callee(*hooked, arguments, false);
      if (tracer_.is_stopped()) return;
      const StructType& type = f.as<Instance>().struct_type();
      const Value* method = type.method("call");
      if (method == nullptr) return tracer_.stop(describe(f) + " is called");
      tracer_.know_constant(*method);
      return callee(*method, arguments, false);
    }
    default:
      return tracer_.stop(describe(f) + " is called");
  }
}

// The tensors that a graph has by itself are read from outside, under the names of its inputs.
void Observer::know_bound(const Value& graph) {
  const auto& value = graph.as<GraphValue>();
  for (std::size_t i = 0; i < value.bound.size(); ++i) {
    if (!value.bound[i]) continue;
    Source source;
    source.key = Value(value.bound[i]);
    source.text = value.graph.values[i].name;
    tracer_.arrive(Value(value.bound[i]), tracer_.sources_.add(std::move(source)));
  }
}

// The nodes of a graph are noted as they run, over the symbols of its tensors. Its numbers are those of this
// call.
void Observer::fix_numbers_in(std::span<const Value> arguments) {
  for (const Value& each : arguments) {
    if (!each.is(Tag::Tensor)) tracer_.fix_sizes_of(each);
    if (each.is(Tag::List)) fix_numbers_in(each.as<List>().items);
    if (each.is(Tag::Tuple)) fix_numbers_in(each.as<Tuple>().items);
  }
}

// Ops are noted when they run. Collections among their arguments are read now.
void Observer::op_call(std::span<const Value> arguments) {
  for (const Value& each : arguments) {
    tracer_.read_argument(each);
    if (each.is(Tag::Iterator) || each.is(Tag::Instance)) tracer_.stop("an op on " + describe(each));
  }
}

void Observer::host(HostRule rule, const std::string& name, std::span<const Value> arguments,
                    const Value* function) {
  if (rule == HostRule::Attributes) return attribute_by_name(function->as<Native>(), arguments);
  const auto read_arguments = [&] {
    for (const Value& each : arguments) {
      tracer_.read_all(each);
      if (!each.is(Tag::Iterator)) continue;
      tracer_.fix_all_kept();
      if (tracer_.is_outside(each)) tracer_.stop("`" + name + "` goes on over an iterator");
    }
  };
  const bool tensors = std::any_of(arguments.begin(), arguments.end(),
                                   [&](const Value& each) { return tracer_.has_tensor(each); });
  const bool calls_back = std::any_of(arguments.begin(), arguments.end(), [](const Value& each) {
    return each.is(Tag::Function) || each.is(Tag::Method) || each.is(Tag::Native) || each.is(Tag::Graph) ||
           each.is(Tag::Iterator);
  });
  if (rule == HostRule::Makes || rule == HostRule::Hooks || calls_back) {
    for (const Value& each : arguments) may_call(each, tensors);
    if (tracer_.is_stopped()) return;
  }
  switch (rule) {
    case HostRule::Breaks:
      return tracer_.stop("`" + name + "` is called");
    case HostRule::Reads:
    case HostRule::Computes:
      if (tracer_.is_apart_ && (name == "is_grad_enabled" || name == "autocast_dtype"))
        return tracer_.stop("a mode is asked for");
      read_arguments();
      if (calls_back) tracer_.save_checkpoint();
      return;
    case HostRule::ReadsHost:
      if (tensors) return tracer_.stop_reading("`" + name + "` reads the elements of a tensor");
      if ((name == "index" || name == "count" || name == "hash") &&
          std::any_of(arguments.begin(), arguments.end(),
                      [this](const Value& each) { return tracer_.has_identity(each); }))
        return tracer_.stop("`" + name + "` tells functions or structs apart");
      return read_arguments();
    case HostRule::Identifies:
      return identity(arguments[0]);
    case HostRule::Makes:
      if (name == "enable_grad" && !tracer_.records_gradients_)
        return tracer_.stop("gradients are recorded within no_grad");
      read_arguments();
      return tracer_.save_checkpoint();
    case HostRule::ReadsContiguity:
      if (tracer_.is_apart_) return tracer_.stop_at_layout();
      return read_arguments();
    case HostRule::ReadsLayout:
      if (tracer_.is_apart_) return tracer_.stop_at_layout();
      read_arguments();
      return tracer_.fix_layout(arguments[0]);
    case HostRule::ReadsOrigin:
      if (tracer_.is_apart_) return tracer_.stop_at_layout();
      read_arguments();
      // Guards check the layout of a tensor, not whether it is a view.
      if (tracer_.is_outside(arguments[0])) tracer_.stop("an argument is asked whether it is a view");
      return;
    case HostRule::ReadsRanks:
      if (tracer_.is_apart_) return tracer_.stop("the ranks are asked for");
      read_arguments();
      return tracer_.read_membership();
    case HostRule::ReadsPlace:
      if (user_frame(tracer_.vm_) < tracer_.base_) tracer_.stop("the line of a caller is asked for");
      return;
    case HostRule::TellsApart:
      read_arguments();
      tracer_.tells_tensors_apart();
      if (calls_back) tracer_.save_checkpoint();
      return;
    case HostRule::ReadsParameter:
      read_arguments();
      return tracer_.fix_parameter(arguments[0]);
    case HostRule::Resizes:
      read_arguments();
      // The views of a tensor's memory are known only if the tensor has memory of its own.
      if (arguments[0].is(Tag::Tensor) && grows(arguments)) tracer_.stop("a tensor grows that may be shared");
      return;
    case HostRule::Appends:
      return tracer_.change_append(arguments[0], 1);
    case HostRule::Changes:
      for (const Value& each : arguments.subspan(1)) {
        if (is_dict_or_set(arguments[0])) key(each);
        iterable(each);
      }
      if (!tracer_.is_stopped()) tracer_.change_contents(arguments[0], false);
      return;
    case HostRule::Differentiates:
      read_arguments();
      return differentiate(name, arguments);
    case HostRule::Hooks:
      read_arguments();
      return hook(arguments[0]);
    case HostRule::Attributes:
      return;
    case HostRule::Prints: {
      if (tracer_.is_apart_) return tracer_.stop("something is printed");
      Tracer::HostCall call;
      call.effect.kind = HostEffect::Kind::Call;
      call.effect.function = *function;
      for (const Value& each : arguments) {
        if (each.is(Tag::Tensor)) return tracer_.stop("a tensor is printed");
        if (each.is_counted() && !each.is(Tag::Str)) return tracer_.stop(describe(each) + " is printed");
        call.arguments.push_back(each);
        call.numbers.push_back(tracer_.shadow(&each));
      }
      if (op_ != Opcode::Call || tracer_.nested_ > 0) return tracer_.stop("printing with options");
      tracer_.count_effect();
      tracer_.calls_.push_back(std::move(call));
      return;
    }
  }
}

// A host function may call f. Functions of the program are watched when they run; of host functions only the
// rules tell what they do.
void Observer::may_call(const Value& given, bool tensors) {
  const Value& f = called_by(given);
  tracer_.know_methods(f);
  const Value& called = f.is(Tag::Method) ? f.as<Method>().function : f;
  if (!called.is(Tag::Native)) return;
  const Native& native = called.as<Native>();
  if (native.unbound != nullptr && is_op(native.name)) return;
  const HostRule rule = f.is(Tag::Method) ? rule_of_method(f.as<Method>().receiver.tag(), native.name)
                                          : rule_of_function(native.name);
  const bool is_pure = rule == HostRule::Reads || rule == HostRule::Computes || rule == HostRule::Makes ||
                       (rule == HostRule::ReadsHost && !tensors);
  if (!is_pure || native.name == "next") tracer_.stop("`" + native.name + "` is given to a host function");
}

// May the resized tensor need more memory, in a way that views see? True also for invalid sizes, so that the
// interpreter raises the error.
bool Observer::grows(std::span<const Value> arguments) const {
  const Tensor& x = arguments[0].tensor();
  try {
    const auto sizes = arguments.subspan(1);
    if (host::grows_shared(x, sizes)) return true;
    return tracer_.is_outside(arguments[0]) && host::grows(x, sizes);
  } catch (const OpError&) {
    return true;
  } catch (const lang::UserError&) {
    return true;
  }
}

// Guards the identity of v. The entry holds v, so that no other object gets its address.
void Observer::identity(const Value& v) {
  const Tracer::OutsideValue* outside = tracer_.known(v);
  if (outside == nullptr) return tracer_.stop("the identity of what was made here is asked for");
  if (tracer_.sources_[outside->source].kind == Source::Kind::Constant) return;
  Guard guard;
  guard.kind = Guard::Kind::Identical;
  guard.source = outside->source;
  guard.value = v;
  tracer_.add_guard(std::move(guard));
}

// A method call, whose first argument is the receiver.
void Observer::method_call(std::uint32_t count, const Site& site) {
  const std::span<const Value> all(r_ + i_.a + 1, count);
  const Value& receiver = all[0];
  switch (receiver.tag()) {
    case Tag::Instance: {
      const Value* found = nullptr;
      if (field_of(receiver, site.name, found)) return callee(*found, all.subspan(1), false);
      if (tracer_.is_stopped()) return;
      if (const Value* method = receiver.as<Instance>().struct_type().method(site.name)) {
        tracer_.know_constant(*method);
        // The context of a captured call belongs to that call. No effect could change an outside context.
        if (host::is_context(receiver)) {
          if (tracer_.is_outside(receiver)) tracer_.stop("`" + std::string(site.name) + "` is called");
          return;
        }
        return callee(*method, all, false);
      }
      break;
    }
    case Tag::Module: {
      Module& module = receiver.as<Module>();
      const Value* value = module.find(site.name);
      if (value == nullptr) return tracer_.stop("a name is missing");
      Source source;
      source.kind = Source::Kind::Slot;
      source.key = receiver;
      source.number = value - module.slots.data();
      source.text = module.name + "." + std::string(site.name);
      if (!tracer_.writes_slot(module, source.number))
        tracer_.arrive(*value, tracer_.sources_.add(std::move(source)));
      return callee(*value, all.subspan(1), false);
    }
    case Tag::StructType:
      if (const Value* method = receiver.as<StructType>().method(site.name)) {
        tracer_.know_constant(*method);
        return callee(*method, all.subspan(1), false);
      }
      break;
    case Tag::Opaque: {
      const std::string& scope = receiver.as<Opaque>().name;
      const bool mode = scope == "no_grad()" || scope == "enable_grad()" || scope.starts_with("autocast(");
      if (!mode || tracer_.is_outside(receiver) || (site.name != "enter" && site.name != "exit"))
        tracer_.stop("`" + std::string(site.name) + "` of `" + scope +
                     "` is called: do so before or after the function");
      return;
    }
    default:
      break;
  }
  if (receiver.is(Tag::Tensor) && !host_member(Tag::Tensor, site.name) && find_op(site.name) != nullptr)
    return op_call(all);
  if (const HostMember* member = host_member(receiver.tag(), site.name)) {
    return host(rule_of_method(receiver.tag(), site.name), std::string(site.name), all, &member->native);
  }
  scope_function(site, all);
}

// A uniform call: a function of the scope gets the receiver as its first argument.
void Observer::scope_function(const Site& site, std::span<const Value> arguments) {
  if (site.local >= 0) {
    const Value& local = r_[site.local];
    if (site.local_is_cell && local.is(Tag::Cell)) tracer_.read_cell(local);
    const Value& value = site.local_is_cell && local.is(Tag::Cell) ? local.as<Cell>().value : local;
    if (value.is(Tag::Function) || value.is(Tag::Graph)) return callee(value, arguments, false);
    if (value.is_counted() && !value.is(Tag::Tensor) && !value.is(Tag::Str))
      return tracer_.stop("a variable is called as a method");
  }
  Module& module = frame_.module();
  const Value& slot = module.slots[site.module_slot];
  if (!tracer_.writes_slot(module, site.module_slot)) {
    Source source;
    source.kind = Source::Kind::Slot;
    source.key = Value(static_cast<Object*>(&module));
    source.number = site.module_slot;
    source.text = site.name;
    tracer_.arrive(slot, tracer_.sources_.add(std::move(source)));
  }
  if (!slot.is_unset()) return callee(slot, arguments, false);
  const Watch unwatched(tracer_.vm_, nullptr);
  const Value* found = tracer_.vm_.find_prelude(site.name);
  if (found == nullptr) return tracer_.stop("a method is missing");
  tracer_.know_constant(*found);
  callee(*found, arguments, false);
}

}  // namespace kiln::interp::capture
