// The look at attributes: read and set by a name in the program's text, or by one that it computed.
#include <algorithm>

#include "interpreter/capture/observe.h"
#include "interpreter/vm/members.h"

namespace kiln::interp::capture {

// Finds a field of a struct, declared or not. False: the struct has no such field.
bool Observer::field_of(const Value& object, std::string_view name, const Value*& found, ExprId* number) {
  auto& instance = object.as<Instance>();
  found = instance.find(name);
  const Tracer::OutsideValue* outside = tracer_.known(object);
  const int field = instance.struct_type().field(name);
  if (!outside) return found != nullptr;
  const SourceId source = outside->source;
  const std::string text = tracer_.item_name(object, "." + std::string(name));
  if (tracer_.changes_field(object, name)) return found != nullptr;
  if (field >= 0) {
    tracer_.arrive_part(instance.fields[static_cast<std::size_t>(field)], source, Source::Kind::Field, field,
                        {}, text, number);
  } else if (found != nullptr) {
    tracer_.arrive_part(*found, source, Source::Kind::Extra, 0, Value(name), text, number);
  } else {
    tracer_.guard_presence(object, name);
  }
  return found != nullptr;
}

void Observer::get_attribute() { attribute(r_[i_.b], frame_.code->sites[i_.c].name); }

void Observer::attribute(const Value& object, std::string_view name) {
  const Value* found = nullptr;
  switch (object.tag()) {
    case Tag::Instance: {
      ExprId number = -1;
      if (!field_of(object, name, found, &number)) tracer_.know_methods(object);
      return tracer_.set_later(r_ + i_.a, number);
    }
    case Tag::Module: {
      Module& module = object.as<Module>();
      const Value* value = module.find(name);
      if (value == nullptr) return tracer_.stop("a name is missing");
      const std::int64_t slot = value - module.slots.data();
      if (tracer_.writes_slot(module, slot)) return;
      Source source;
      source.kind = Source::Kind::Slot;
      source.key = object;
      source.number = slot;
      source.text = module.name + "." + std::string(name);
      return tracer_.set_later(r_ + i_.a,
                               tracer_.arrive_number(*value, tracer_.sources_.add(std::move(source))));
    }
    case Tag::Tensor:
      if (name == "grad") return tracer_.read_gradient(object);
      if (name == "requires_grad" && tracer_.is_apart_) return tracer_.stop("a history is asked for");
      if (host_member(Tag::Tensor, name) && rule_of_tensor_member(name) == HostRule::Breaks)
        tracer_.stop("`" + std::string(name) + "` of a tensor is read");
      return;
    case Tag::Tuple:
      tracer_.read_items(object);
      return;
    case Tag::StructType:
      return tracer_.know_methods(object);
    case Tag::List:
    case Tag::Dict:
    case Tag::Set:
    case Tag::Str:
    case Tag::Range:
    case Tag::Slice:
    case Tag::Complex:
    case Tag::DType:
      return;
    default:
      return tracer_.stop("`" + std::string(name) + "` of " + describe(object) + " is read");
  }
}

void Observer::set_attribute() { assign(r_[i_.a], frame_.code->sites[i_.c].name, r_[i_.b]); }

void Observer::assign(const Value& object, std::string_view name, const Value& value) {
  if (object.is(Tag::Instance)) {
    const Value* found = nullptr;
    ExprId number = -1;  // the earlier value of the field does not matter
    if (object.as<Instance>().struct_type().field(name) < 0) field_of(object, name, found, &number);
    if (!tracer_.is_stopped()) tracer_.change_field(object, name);
    return;
  }
  if (object.is(Tag::Tensor) && name == "grad") return set_gradient(object, value);
  tracer_.stop("`" + std::string(name) + "` of " + describe(object) + " is assigned");
}

// Whether there is such an attribute is guarded, and not what it is.
void Observer::ask_attribute(const Value& object, std::string_view name) {
  if (!object.is(Tag::Instance)) return attribute(object, name);
  if (tracer_.is_outside(object) && !tracer_.changes_field(object, name))
    tracer_.guard_presence(object, name);
}

// ---- By a computed name ----

// Finds the arguments of getattr, hasattr or setattr. nullopt: capture stops, or the call is an error.
std::optional<Observer::AttributeCall> Observer::attribute_call(const Native& native,
                                                                std::span<const Value> arguments) {
  std::array<const Value*, 3> found{};
  const bool is_method = op_ == Opcode::CallMethodSpread;
  const bool has_shape = is_method || op_ == Opcode::CallSpread;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    std::size_t at = k;
    if (has_shape && !(is_method && k == 0)) {
      const CallShape::Item& item = frame_.code->shapes[i_.c].items[k - (is_method ? 1 : 0)];
      if (item.kind == lang::Argument::Kind::Named) {
        const auto named = std::find_if(native.parameters.begin(), native.parameters.end(),
                                        [&](const NativeParameter& p) { return p.name == item.name; });
        at = static_cast<std::size_t>(named - native.parameters.begin());
      } else if (item.kind != lang::Argument::Kind::Positional) {
        tracer_.stop("`" + native.name + "` is called with a star");
        return std::nullopt;
      }
    }
    if (at >= found.size()) return std::nullopt;
    found[at] = &arguments[k];
  }
  if (found[0] == nullptr || found[1] == nullptr || !found[1]->is(Tag::Str)) return std::nullopt;
  return AttributeCall{native.name, found[0], found[1]->as<Str>().text, found[2]};
}

// The name is known: guards fix what it was made of.
void Observer::attribute_by_name(const Native& native, std::span<const Value> arguments) {
  by_name_ = attribute_call(native, arguments);
  if (!by_name_) return;
  const auto& [function, object, name, value] = *by_name_;
  if (function == "hasattr") return ask_attribute(*object, name);
  if (function == "getattr") return attribute(*object, name);
  if (value != nullptr) assign(*object, name, *value);
}

void Observer::numbers_of_attribute(const Value& object, std::string_view name) {
  if (object.is(Tag::Tensor) && name == "shape") return size_query(object.tensor(), std::nullopt, false);
  if (name == "nbytes") tracer_.fix_sizes_of(object);
  if (object.is(Tag::Instance)) recalled(object, place_of(object.as<Instance>(), name));
}

void Observer::numbers_by_name() {
  const auto& [function, object, name, value] = *by_name_;
  if (function == "hasattr") return;
  if (function == "setattr") {
    if (!object->is(Tag::Instance) || value == nullptr) return fix_all();
    return stored(*object, place_of(object->as<Instance>(), name), value);
  }
  const bool gives_default = value != nullptr && object->is(Tag::Instance) && !has_member(*object, name);
  if (gives_default) return tracer_.set_later(r_ + i_.a, tracer_.shadow(value));
  if (value != nullptr && !object->is(Tag::Instance)) fix_all();
  numbers_of_attribute(*object, name);
}

}  // namespace kiln::interp::capture
