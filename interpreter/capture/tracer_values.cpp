// Values from outside, and changes to them.
#include <algorithm>

#include "interpreter/capture/tracer.h"
#include "tensor/autograd.h"
#include "tensor/tape/sparse_gradient.h"

namespace kiln::interp::capture {
namespace {

constexpr int kDeepestData = 16;
constexpr std::size_t kMostItems = 4096;

// What never changes and is compared by its content.
bool is_text_like(const Value& v) {
  return !v.is_counted() || v.is(Tag::Str) || v.is(Tag::Range) || v.is(Tag::Complex);
}

// An empty value of the same type, for a guard on the type that keeps nothing of the recorded call alive.
Value empty_of(const Value& v) {
  switch (v.tag()) {
    case Tag::List:
      return make<List>(std::vector<Value>());
    case Tag::Tuple: {
      Value tuple = make<Tuple>(std::vector<Value>());
      tuple.as<Tuple>().names = v.as<Tuple>().names;
      return tuple;
    }
    case Tag::Dict:
      return make<Dict>();
    case Tag::Set:
      return make<Set>();
    case Tag::Cell:
      return make<Cell>();
    case Tag::Method:
      return make<Method>(Value(), Value());
    default:
      return make<Slice>(Value(), Value(), Value());
  }
}

const std::vector<Value>* items_in(const Value& v) {
  if (v.is(Tag::List)) return &v.as<List>().items;
  return v.is(Tag::Tuple) ? &v.as<Tuple>().items : nullptr;
}

}  // namespace

// A guard is not added twice: the guarded property of a source never changes within an entry.
void Tracer::add_guard(Guard guard) {
  if (guarded_.emplace(guard.kind, guard.source, guard.other).second) guards_.push_back(std::move(guard));
}

const Tracer::OutsideValue* Tracer::known(const Value& v) const {
  if (is_text_like(v)) return nullptr;
  const auto found = known_.find(identity(v));
  return found == known_.end() ? nullptr : &found->second;
}

void Tracer::know_constant(const Value& v) {
  if (is_text_like(v) || known(v)) return;
  Source source;
  source.key = v;
  source.text = v.is(Tag::Function) ? v.as<Function>().code->name : describe(v);
  known_.emplace(identity(v), OutsideValue{v, sources_.add(std::move(source))});
}

// In a run apart, stops at a variable, cell or gradient from outside: it may have another value when the real
// call is made.
void Tracer::leave_alone(const Source& source, const Value& v) {
  using Kind = Source::Kind;
  const bool from_outside =
      source.kind == Kind::Slot || source.kind == Kind::Cell || source.kind == Kind::Grad;
  if (from_outside && !v.is_unset()) stop("a variable from outside is read");
}

// A value was read from outside: guards its type, and its contents if it is no container.
void Tracer::arrive(const Value& v, SourceId source) {
  if (is_apart_) leave_alone(sources_[source], v);
  Guard guard;
  guard.source = source;
  guard.value = v;
  if (is_text_like(v)) return add_guard(std::move(guard));
  if (const OutsideValue* same = known(v)) {
    if (same->source == source || sources_[same->source].kind == Source::Kind::Constant) {
      if (same->source == source) return;
      guard.kind = Guard::Kind::Identical;
      return add_guard(std::move(guard));
    }
    guard.kind = Guard::Kind::Same;
    guard.other = same->source;
    guard.value = {};
    return add_guard(std::move(guard));
  }
  known_.emplace(identity(v), OutsideValue{v, source});
  switch (v.tag()) {
    case Tag::Tensor:
      if (sparse::is_sparse(v.tensor())) return stop("a sparse gradient is read");
      guard.kind = Guard::Kind::Tensor;
      guard.value = {};
      guard.tensor = TensorGuard::of(v.tensor());
      break;
    case Tag::List:
    case Tag::Dict:
    case Tag::Set:
    case Tag::Cell:
    case Tag::Method:
    case Tag::Slice:
      guard.kind = Guard::Kind::Tag;
      guard.value = empty_of(v);
      break;
    case Tag::Tuple: {
      guard.kind = Guard::Kind::Tag;
      guard.value = empty_of(v);
      Guard length;
      length.kind = Guard::Kind::Length;
      length.source = source;
      length.number = static_cast<std::int64_t>(v.as<Tuple>().items.size());
      add_guard(std::move(guard));
      return add_guard(std::move(length));
    }
    case Tag::Instance:
      guard.kind = Guard::Kind::Struct;
      guard.value = v.as<Instance>().type;
      break;
    case Tag::Function:
      guard.kind = Guard::Kind::Code;
      owners_.push_back(v.as<Function>().owner);
      break;
    default:
      guard.kind = Guard::Kind::Identical;
  }
  add_guard(std::move(guard));
  if (v.is(Tag::Tensor)) follow_sizes(v.tensor(), source);
  if (v.is(Tag::Slice)) read_all(v);
}

void Tracer::arrive_part(const Value& v, SourceId parent, Source::Kind kind, std::int64_t number, Value key,
                         std::string text, ExprId* varying) {
  Source source;
  source.kind = kind;
  source.parent = parent;
  source.number = number;
  source.key = std::move(key);
  source.text = std::move(text);
  const SourceId id = sources_.add(std::move(source));
  if (varying != nullptr) {
    *varying = arrive_number(v, id);
  } else {
    arrive(v, id);
  }
}

std::string Tracer::item_name(const Value& container, const std::string& suffix) const {
  const OutsideValue* outside = known(container);
  return (outside ? sources_[outside->source].text : std::string()) + suffix;
}

void Tracer::read_length(const Value& container) {
  const OutsideValue* outside = known(container);
  const Change* change = changed(container);
  if (!outside || (change && change->contents) || container.is(Tag::Tuple)) return;
  Guard guard;
  guard.kind = Guard::Kind::Length;
  guard.source = outside->source;
  if (is_dict_or_set(container)) {
    guard.number = static_cast<std::int64_t>(container.as<Dict>().size());
  } else {
    guard.number = static_cast<std::int64_t>(items_in(container)->size()) - (change ? change->appended : 0);
  }
  add_guard(std::move(guard));
}

void Tracer::read_item(const Value& container, std::int64_t at, ExprId* varying) {
  const auto length = static_cast<std::int64_t>(items_in(container)->size());
  if (const ExprId kept = kept_number(container, at < 0 ? at + length : at); kept >= 0) {
    if (at < 0) read_length(container);
    if (varying == nullptr) return fix_kept(container);
    *varying = kept;
    return;
  }
  const OutsideValue* outside = known(container);
  const Change* change = changed(container);
  if (!outside || (change && change->contents)) return;
  const auto& items = *items_in(container);
  if (at < 0) {
    read_length(container);
    at += static_cast<std::int64_t>(items.size());
  }
  const auto count = static_cast<std::int64_t>(items.size());
  if (at < 0 || at >= count || at >= count - (change ? change->appended : 0)) return read_length(container);
  const SourceId source = outside->source;
  arrive_part(items[static_cast<std::size_t>(at)], source, Source::Kind::Item, at, {},
              item_name(container, "[" + std::to_string(at) + "]"), varying);
}

void Tracer::read_items(const Value& container, bool follow) {
  if (!follow) fix_kept(container);
  if (is_stopped()) return;
  const OutsideValue* outside = known(container);
  const Change* change = changed(container);
  if (!outside || (change && change->contents)) return;
  const SourceId source = outside->source;
  if (const auto* items = items_in(container)) {
    if (items->size() > kMostItems) return stop("a list of more than 4096 items is read");
    read_length(container);
    const std::size_t before = items->size() - static_cast<std::size_t>(change ? change->appended : 0);
    for (std::size_t i = 0; i < before; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      ExprId number = -1;
      read_item(container, at, follow ? &number : nullptr);
      if (number >= 0) keep_number(container, at, number);
    }
    return;
  }
  Guard keys;
  keys.kind = Guard::Kind::Keys;
  keys.source = source;
  keys.value = make<Tuple>(std::vector<Value>());
  for (const Dict::Entry& entry : container.as<Dict>().entries()) {
    if (!entry.live) continue;
    if (!is_text_like(entry.key)) return stop("a dict or a set has keys that are objects");
    keys.value.as<Tuple>().items.push_back(entry.key);
  }
  add_guard(std::move(keys));
  std::int64_t at = -1;
  for (const Dict::Entry& entry : container.as<Dict>().entries()) {
    if (!entry.live || kept_number(container, ++at) >= 0) continue;
    const std::string name = entry.key.is(Tag::Str) ? "[\"" + entry.key.as<Str>().text + "\"]" : "[…]";
    ExprId number = -1;
    arrive_part(entry.value, source, Source::Kind::Key, 0, entry.key, item_name(container, name),
                follow ? &number : nullptr);
    if (number >= 0) keep_number(container, at, number);
  }
}

void Tracer::read_all(const Value& v, int depth) {
  if (is_text_like(v) || is_stopped()) return;
  if (depth > kDeepestData) return stop("host data is nested too deeply");
  switch (v.tag()) {
    case Tag::List:
    case Tag::Tuple:
      read_items(v);
      for (const Value& each : *items_in(v)) read_all(each, depth + 1);
      return;
    case Tag::Dict:
    case Tag::Set:
      read_items(v);
      for (const Dict::Entry& each : v.as<Dict>().entries()) {
        if (each.live) read_all(each.value, depth + 1);
      }
      return;
    case Tag::Slice: {
      const Slice& slice = v.as<Slice>();
      if (is_outside(v)) {
        Guard guard;
        guard.kind = Guard::Kind::Identical;
        guard.source = known(v)->source;
        guard.value = v;
        add_guard(std::move(guard));
      }
      for (const Value* each : {&slice.start, &slice.stop, &slice.step}) read_all(*each, depth + 1);
      return;
    }
    case Tag::Instance: {
      const Instance& instance = v.as<Instance>();
      fix_kept(v);
      if (is_outside(v)) read_fields(v);
      for (const Value& each : instance.fields) read_all(each, depth + 1);
      for (const auto& [name, each] : instance.extra) {
        fix_object(each);
        read_all(each, depth + 1);
      }
      return;
    }
    case Tag::Method:
      if (const OutsideValue* outside = known(v)) {
        const SourceId source = outside->source;
        arrive_part(v.as<Method>().receiver, source, Source::Kind::Receiver, 0, {},
                    item_name(v, ".receiver"));
        arrive_part(v.as<Method>().function, source, Source::Kind::Method, 0, {}, item_name(v, ".function"));
      }
      read_all(v.as<Method>().receiver, depth + 1);
      return;
    default:
      return;
  }
}

// Of an op. Numbers in a list vary on: the op tells which of them it followed (expect).
void Tracer::read_argument(const Value& v) {
  if (!v.is(Tag::List)) return read_all(v);
  read_items(v, true);
  for (const Value& each : v.as<List>().items) read_all(each, 1);
}

void Tracer::read_fields(const Value& v) {
  const SourceId source = known(v)->source;
  const Instance& instance = v.as<Instance>();
  const std::vector<std::string>& names = instance.struct_type().fields;
  for (std::size_t k = 0; k < instance.fields.size(); ++k) {
    const std::string name = k < names.size() ? names[k] : "?";
    if (changes_field(v, name)) continue;
    arrive_part(instance.fields[k], source, Source::Kind::Field, static_cast<std::int64_t>(k), {},
                item_name(v, "." + name));
  }
  const Change* const change = changed(v);
  Guard extras;
  extras.kind = Guard::Kind::Extras;
  extras.source = source;
  extras.value = make<Tuple>(std::vector<Value>());
  for (const auto& [name, value] : instance.extra) {
    if (change && std::count(change->added.begin(), change->added.end(), name) > 0) continue;
    extras.value.as<Tuple>().items.emplace_back(name);
    if (!changes_field(v, name))
      arrive_part(value, source, Source::Kind::Extra, 0, Value(name), item_name(v, "." + name));
  }
  add_guard(std::move(extras));
}

void Tracer::guard_presence(const Value& v, std::string_view name) {
  const Instance& instance = v.as<Instance>();
  Source place;
  place.parent = known(v)->source;
  place.text = item_name(v, "." + std::string(name));
  if (const int field = instance.struct_type().field(name); field >= 0) {
    place.kind = Source::Kind::Field;
    place.number = field;
  } else {
    place.kind = Source::Kind::Extra;
    place.key = Value(name);
  }
  Guard guard;
  guard.kind = Guard::Kind::Present;
  guard.source = sources_.add(std::move(place));
  guard.value = Value(v.as<Instance>().find(name) != nullptr);
  add_guard(std::move(guard));
}

void Tracer::read_defaults(const Value& f) {
  const SourceId source = known(f)->source;
  const Function& function = f.as<Function>();
  const bool is_constant = sources_[source].kind == Source::Kind::Constant;
  for (std::size_t k = 0; k < function.defaults.size(); ++k) {
    if (is_constant) {
      know_constant(function.defaults[k]);
      read_all(function.defaults[k]);
    } else {
      arrive_part(function.defaults[k], source, Source::Kind::Default, static_cast<std::int64_t>(k), {},
                  "a default of " + function.code->name);
    }
  }
}

void Tracer::know_methods(const Value& v) {
  const StructType* const type = v.is(Tag::Instance)     ? &v.as<Instance>().struct_type()
                                 : v.is(Tag::StructType) ? &v.as<StructType>()
                                                         : nullptr;
  if (type == nullptr) return;
  for (const auto& [name, method] : type->methods) {
    know_constant(method);
    if (method.is(Tag::Function)) read_defaults(method);
  }
}

void Tracer::know_called_back(const Frame& frame) {
  const Value f(static_cast<Object*>(const_cast<Function*>(frame.function)));
  if (made_functions_.contains(static_cast<const void*>(f.object()))) return;
  // Its holder (a transform, a hook, the type of a struct) is guarded by identity, so f is a constant.
  know_constant(f);
  read_defaults(f);
}

namespace {

// Is `is` true of v, or of a value within its lists, tuples, dicts and (with `fields`) structs? True also
// where these are nested too deeply.
template <class F>
bool any_within(const Value& v, bool fields, const F& is, int depth = 0) {
  if (is_text_like(v)) return false;
  if (depth > kDeepestData || is(v)) return true;
  const auto within = [&](const Value& each) { return any_within(each, fields, is, depth + 1); };
  if (const auto* items = items_in(v)) return std::any_of(items->begin(), items->end(), within);
  if (is_dict_or_set(v)) {
    const auto& entries = v.as<Dict>().entries();
    return std::any_of(entries.begin(), entries.end(), [&](const Dict::Entry& each) {
      return each.live && (within(each.key) || within(each.value));
    });
  }
  if (!fields || !v.is(Tag::Instance)) return false;
  const Instance& instance = v.as<Instance>();
  return std::any_of(instance.fields.begin(), instance.fields.end(), within) ||
         std::any_of(instance.extra.begin(), instance.extra.end(),
                     [&](const auto& each) { return within(each.second); });
}

}  // namespace

bool Tracer::has_identity(const Value& v) const {
  return any_within(v, false, [](const Value& each) {
    return !each.is(Tag::Tensor) && !each.is(Tag::List) && !each.is(Tag::Tuple) && !is_dict_or_set(each) &&
           !each.is(Tag::Slice);
  });
}

bool Tracer::has_tensor(const Value& v) const {
  return any_within(v, true, [](const Value& each) { return each.is(Tag::Tensor); });
}

bool Tracer::keeps_as_they_are(std::span<const Value> values) {
  return std::all_of(values.begin(), values.end(), [this](const Value& v) {
    if (is_text_like(v) || v.is(Tag::Type)) return true;
    const OutsideValue* const outside = known(v);
    if (outside == nullptr) return v.is(Tag::Tuple) && keeps_as_they_are(v.as<Tuple>().items);
    if (sources_[outside->source].kind == Source::Kind::Constant) return true;
    Guard guard;
    guard.kind = Guard::Kind::Identical;
    guard.source = outside->source;
    guard.value = v;
    add_guard(std::move(guard));
    return true;
  });
}

// ---- Registers and cells ----

bool Tracer::is_untouched(const Value* r) const {
  const std::size_t slot = slot_of(r);
  return slot < untouched_.size() && untouched_[slot];
}

SourceId Tracer::register_source(const Value* r) {
  std::size_t out = 0;
  while (out + 1 < entry_bases_.size() && r < entry_bases_[out]) ++out;
  Source source;
  source.kind = Source::Kind::Register;
  source.index = static_cast<std::int64_t>(out);
  source.number = r - entry_bases_[out];
  const Code& code = *entry_frames_[out].first;
  const auto& locals = code.function->locals;
  const auto number = static_cast<std::size_t>(source.number);
  source.text = number < locals.size() ? std::string(locals[number]) : "a value under way";
  return sources_.add(std::move(source));
}

void Tracer::use_register(std::uint32_t r) {
  const Value* at = vm_.frame()->base + r;
  if (loop_numbers_.contains(at)) return stop("a number that a loop gave is used");
  if (!is_untouched(at) || shadow(at) >= 0) return;
  const ExprId number = arrive_number(*at, register_source(at));
  if (number >= 0) shadows_[at] = number;
}

// The source of a captured variable's cell: known by itself, or through the function.
SourceId Tracer::cell_source(const Function& function, std::size_t capture) {
  const Value& cell = function.captures[capture];
  const auto known_function = known_.find(static_cast<const void*>(static_cast<const Object*>(&function)));
  // Also for a known cell: a guard checks that the function has this one.
  if (known_function != known_.end()) {
    const std::string name(function.code->function->captures[capture].name);
    arrive_part(cell, known_function->second.source, Source::Kind::Capture,
                static_cast<std::int64_t>(capture), {}, name);
  }
  const OutsideValue* outside = known(cell);
  return outside == nullptr ? -1 : outside->source;
}

ExprId Tracer::read_cell(const Value& cell) {
  const OutsideValue* outside = known(cell);
  if (const Change* change = changed(cell); !outside || (change && change->cell)) return -1;
  Source source;
  source.kind = Source::Kind::Cell;
  source.parent = outside->source;
  source.text = sources_[outside->source].text;
  return arrive_number(cell.as<Cell>().value, sources_.add(std::move(source)));
}

// ---- Changes ----

const Tracer::Change* Tracer::changed(const Value& target) const {
  if (is_text_like(target)) return nullptr;
  const auto found = changes_.find(identity(target));
  return found == changes_.end() ? nullptr : &found->second;
}

void Tracer::count_effect() { ++effects_; }

Tracer::Change& Tracer::change(const Value& target, SourceId source) {
  if (is_apart_) stop("host data is changed");
  count_effect();
  const auto [at, is_new] = changes_.try_emplace(identity(target));
  undo_.emplace_back(
      [this, object = identity(target), before = is_new ? std::nullopt : std::optional(at->second)] {
        if (before) return void(changes_.at(object) = *before);
        changes_.erase(object);
        std::erase(change_order_, object);
      });
  if (is_new) {
    at->second.target = target;
    at->second.source = source;
    change_order_.push_back(identity(target));
  }
  return at->second;
}

void Tracer::undo_instruction() {
  for (auto at = undo_.rbegin(); at != undo_.rend(); ++at) (*at)();
  undo_.clear();
}

bool Tracer::writes_slot(const Module& module, std::int64_t slot) const {
  const auto found = changes_.find(static_cast<const void*>(static_cast<const Object*>(&module)));
  return found != changes_.end() &&
         std::count(found->second.fields.begin(), found->second.fields.end(), slot) > 0;
}

void Tracer::change_slot(Module& module, std::int64_t slot) {
  if (writes_slot(module, slot)) return count_effect();
  const Value target{static_cast<Object*>(&module)};
  know_constant(target);
  change(target, known(target)->source).fields.push_back(slot);
}

void Tracer::change_cell(const Value& cell, SourceId source) {
  if (source >= 0) change(cell, source).cell = true;
}

bool Tracer::changes_field(const Value& object, std::string_view name) const {
  const Change* const change = changed(object);
  if (change == nullptr) return false;
  const int field = object.as<Instance>().struct_type().field(name);
  if (field >= 0) return std::count(change->fields.begin(), change->fields.end(), field) > 0;
  return std::count(change->extras.begin(), change->extras.end(), name) > 0;
}

void Tracer::change_field(const Value& object, std::string_view name) {
  const OutsideValue* outside = known(object);
  if (!outside) return;
  Change& made = change(object, outside->source);
  const int field = object.as<Instance>().struct_type().field(name);
  if (field >= 0) {
    if (std::count(made.fields.begin(), made.fields.end(), field) == 0) made.fields.push_back(field);
  } else if (std::count(made.extras.begin(), made.extras.end(), name) == 0) {
    made.extras.emplace_back(name);
    if (object.as<Instance>().find(name) == nullptr) made.added.emplace_back(name);
  }
}

void Tracer::change_append(const Value& list, std::int64_t count) {
  const OutsideValue* outside = known(list);
  if (!outside) return;
  Change& made = change(list, outside->source);
  if (!made.contents) made.appended += count;
}

void Tracer::change_contents(const Value& container, bool in_place) {
  if (!in_place) fix_kept(container);
  const OutsideValue* outside = known(container);
  if (!outside || is_stopped()) return;
  read_items(container, in_place);
  if (is_stopped()) return;
  change(container, outside->source).contents = true;
}

}  // namespace kiln::interp::capture
