#include "interpreter/vm/vm_slow.h"

#include <iterator>
#include <vector>

#include "interpreter/values/iterators.h"
#include "interpreter/values/natives.h"
#include "interpreter/values/objects.h"
#include "interpreter/vm/operators.h"

namespace kiln::interp {
namespace {

void consume(Vm& vm, Value* r, std::uint32_t a) {
  if (vm.frame()->is_temporary(a)) r[a].clear();
}

}  // namespace

void slow_binary(Vm& vm, lang::BinaryOp op, Value* r, const Instruction& i) {
  Value result = binary_operator(vm.interpreter(), op, r[i.b], r[i.c]);
  if (result.is(Tag::Tensor)) vm.count_op();
  consume(vm, r, i.b);
  consume(vm, r, i.c);
  r[i.a].take(result);
}

void slow_binary_number(Vm& vm, lang::BinaryOp op, Value* r, const Instruction& i) {
  Value result = binary_operator(vm.interpreter(), op, r[i.b], Value(std::int64_t{i.c_number()}));
  if (result.is(Tag::Tensor)) vm.count_op();
  consume(vm, r, i.b);
  r[i.a].take(result);
}

namespace {

const Value* item_of(const Value& object, const Value& key) {
  if (object.is(Tag::Dict)) return object.as<Dict>().find(key);
  if (!object.is(Tag::List) || !key.is(Tag::Int)) return nullptr;
  const std::vector<Value>& items = object.as<List>().items;
  const std::int64_t at = key.as_int() < 0 ? key.as_int() + std::ssize(items) : key.as_int();
  return at >= 0 && at < std::ssize(items) ? &items[static_cast<std::size_t>(at)] : nullptr;
}

// The variable, field or item that an instruction stores register `from` in; null for other instructions, and
// where finding it would be work of its own.
const Value* stored_in(Vm& vm, Value* r, const Instruction& store, std::uint16_t from) {
  const bool is_variable = store.a == from;
  switch (store.opcode()) {
    case Opcode::SetGlobal:
      return is_variable ? &vm.frame()->slots[store.b] : nullptr;
    case Opcode::SetCell:
      return is_variable ? &r[store.b].as<Cell>().value : nullptr;
    case Opcode::SetCapture:
      return is_variable ? &vm.frame()->function->captures[store.b].as<Cell>().value : nullptr;
    case Opcode::SetAttribute:
      if (store.b != from || !r[store.a].is(Tag::Instance)) return nullptr;
      return r[store.a].as<Instance>().find(vm.code().sites[store.c].name);
    case Opcode::SetIndexBack:
      return store.c == from ? item_of(r[store.a], r[store.b]) : nullptr;
    default:
      return nullptr;
  }
}

// `self.text += more`: if only the register and the place it came from and goes back to hold the text, it
// grows in place. Otherwise a loop of these would take time by the square of its iterations.
bool grew_in_place(Vm& vm, Value* r, const Instruction& i) {
  const Value& text = r[i.a];
  const Value& more = r[i.b];
  if (!text.is(Tag::Str) || !more.is(Tag::Str) || text.object()->refs != 2 || identical(text, more))
    return false;
  const Value* place = stored_in(vm, r, (&i)[1], i.a);
  if (place == nullptr || !identical(*place, text)) return false;
  text.as<Str>().append(more.as<Str>().text);
  return true;
}

}  // namespace

void slow_augmented(Vm& vm, lang::BinaryOp op, Value* r, const Instruction& i) {
  if (op != lang::BinaryOp::Add || !grew_in_place(vm, r, i))
    augmented_operator(vm.interpreter(), op, r[i.a], r[i.b]);
  if (r[i.a].is(Tag::Tensor)) vm.count_op();
  consume(vm, r, i.b);
}

void slow_augmented_number(Vm& vm, lang::BinaryOp op, Value* r, const Instruction& i) {
  augmented_operator(vm.interpreter(), op, r[i.a], Value(std::int64_t{i.b_number()}));
}

void slow_compare(Vm& vm, lang::CompareOp op, Value* r, const Instruction& i) {
  Value result = compare_operator(vm.interpreter(), op, r[i.b], r[i.c]);
  consume(vm, r, i.b);
  consume(vm, r, i.c);
  r[i.a].take(result);
}

bool slow_compare_truth(Vm& vm, lang::CompareOp op, Value* r, const Instruction& i) {
  const Value result = compare_operator(vm.interpreter(), op, r[i.a], r[i.b]);
  const bool holds = truth_of(vm.interpreter(), result);
  consume(vm, r, i.a);
  consume(vm, r, i.b);
  return holds;
}

bool slow_compare_number_truth(Vm& vm, lang::CompareOp op, Value* r, const Instruction& i) {
  const Value result = compare_operator(vm.interpreter(), op, r[i.a], Value(std::int64_t{i.b_number()}));
  const bool holds = truth_of(vm.interpreter(), result);
  consume(vm, r, i.a);
  return holds;
}

bool slow_truth(Vm& vm, Value& x, bool consumed) {
  const bool holds = truth_of(vm.interpreter(), x);
  if (consumed) x.clear();
  return holds;
}

void slow_get_index(Vm& vm, Value* r, const Instruction& i) {
  Value result = get_index(vm.interpreter(), r[i.b], r[i.c]);
  if (result.is(Tag::Tensor)) vm.count_op();
  consume(vm, r, i.b);
  consume(vm, r, i.c);
  r[i.a].take(result);
}

void slow_set_index(Vm& vm, Value* r, const Instruction& i) {
  set_index(vm.interpreter(), r[i.a], r[i.b], r[i.c]);
  consume(vm, r, i.a);
  consume(vm, r, i.b);
  consume(vm, r, i.c);
}

// Remembers where a field of a struct was found.
void slow_get_attribute(Vm& vm, Value* r, const Instruction& i) {
  const Value& object = r[i.b];
  Site& site = vm.code().sites[i.c];
  Value result = get_attribute(vm.interpreter(), object, site.name);
  if (object.is(Tag::Instance)) {
    const StructType& type = object.as<Instance>().struct_type();
    if (const int field = type.field(site.name); field >= 0) {
      site.kind = Site::Kind::Field;
      site.struct_id = type.id;
      site.index = static_cast<std::uint32_t>(field);
    }
  }
  consume(vm, r, i.b);
  r[i.a].take(result);
}

namespace {

bool next_of_tuple(Value* state, Value& item) {
  const std::vector<Value>& items = state[0].as<Tuple>().items;
  const auto at = static_cast<std::size_t>(state[1].as_int());
  if (at >= items.size()) return false;
  state[1].put(static_cast<std::int64_t>(at + 1));
  item = items[at];
  return true;
}

bool next_of_dict(Value* state, Value& item) {
  const Dict& dict = state[0].as<Dict>();
  if (static_cast<std::int64_t>(dict.size()) != state[2].as_int()) {
    raise("ValueError",
          "the " + std::string(type_name(state[0])) + " changed its size while a loop went over it",
          state[0].is(Tag::Dict) ? "loop over `list(d)` instead" : "loop over `list(s)` instead");
  }
  auto at = static_cast<std::size_t>(state[1].as_int());
  const auto& entries = dict.entries();
  while (at < entries.size() && !entries[at].live) ++at;
  if (at >= entries.size()) return false;
  state[1].put(static_cast<std::int64_t>(at + 1));
  item = entries[at].key;
  return true;
}

}  // namespace

void op_BeginFor(Vm& vm, Value* r, const Instruction& i) {
  Value source;
  if (vm.frame()->is_temporary(i.b)) {
    source.take(r[i.b]);
  } else {
    source = r[i.b];
  }
  Value* state = r + i.a;
  state[1].put(std::int64_t{0});
  switch (source.tag()) {
    case Tag::Range: {
      const Range range(source.as<Range>().start, source.as<Range>().stop, source.as<Range>().step);
      state[0].put(range.start);
      state[1].put(range.iterations());
      state[2].put(range.step);
      vm.count_trips(state[1].as_int());
      return;
    }
    case Tag::Dict:
    case Tag::Set:
      state[2].put(static_cast<std::int64_t>(source.as<Dict>().size()));
      break;
    case Tag::List:
      vm.count_trips(static_cast<std::int64_t>(source.as<List>().items.size()));
      break;
    case Tag::Tuple:
    case Tag::Str:
      break;
    default: {
      state[0].take(source);  // in place for the caret of an error
      source = make_iterator(vm.interpreter(), state[0]);
    }
  }
  state[0].take(source);
}

bool slow_next(Vm& vm, Value* r, const Instruction& i) {
  Value* state = r + i.a;
  Value item;
  bool more = false;
  switch (state[0].tag()) {
    case Tag::Tuple:
      more = next_of_tuple(state, item);
      break;
    case Tag::Dict:
    case Tag::Set:
      more = next_of_dict(state, item);
      break;
    case Tag::Str:
      more = next_letter(state[0].as<Str>(), state[1], item);
      break;
    default: {
      const Value keep = state[0];
      more = advance(vm.interpreter(), keep, item);
    }
  }
  if (more) {
    r[i.b].take(item);
  } else {
    state[0].clear();
  }
  return more;
}

void unset_error(Vm& vm, std::string_view name) {
  const std::string where = vm.code().name.empty() ? "" : " of " + vm.code().name;
  raise("NameError", "the variable `" + std::string(name) + "`" + where + " has no value here",
        "assign it on every way to this line");
}

void tensor_chain_error() {
  raise("TypeError", "a chain of comparisons does not work elementwise on tensors",
        "write `(a < x) & (x < b)`");
}

}  // namespace kiln::interp
