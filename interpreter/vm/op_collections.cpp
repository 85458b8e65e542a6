// The instructions that make and take apart collections and text.
#include "interpreter/interpreter.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/operators.h"
#include "interpreter/vm/vm.h"
#include "tensor/how_many.h"

namespace kiln::interp {
namespace {

std::vector<Value> taken(Value* first, std::size_t count) {
  std::vector<Value> items(count);
  for (std::size_t k = 0; k < count; ++k) items[k].take(first[k]);
  return items;
}

void consume(Vm& vm, Value* r, std::uint32_t a) {
  if (vm.frame()->is_temporary(a)) r[a].clear();
}

// The value of an operand, moved out of a temporary.
Value operand(Vm& vm, Value* r, std::uint32_t a) {
  if (!vm.frame()->is_temporary(a)) return r[a];
  Value value;
  value.take(r[a]);
  return value;
}

bool can_be_unpacked(const Value& v) {
  return !v.is_number() && !v.is_none() && !v.is(Tag::Function) && !v.is(Tag::Native);
}

}  // namespace

void op_BuildList(Vm&, Value* r, const Instruction& i) {
  Value list = make<List>(taken(r + i.b, i.c));
  r[i.a].take(list);
}

void op_BuildTuple(Vm&, Value* r, const Instruction& i) {
  Value tuple = make<Tuple>(taken(r + i.b, i.c));
  r[i.a].take(tuple);
}

void op_BuildDict(Vm&, Value* r, const Instruction& i) {
  Value dict = make<Dict>();
  for (std::uint32_t k = 0; k < i.c; ++k) dict.as<Dict>().set(r[i.b + 2 * k], r[i.b + 2 * k + 1]);
  for (std::uint32_t k = 0; k < 2U * i.c; ++k) r[i.b + k].clear();
  r[i.a].take(dict);
}

void op_BuildSlice(Vm&, Value* r, const Instruction& i) {
  Value slice = make<Slice>(r[i.b], r[i.b + 1], r[i.b + 2]);
  for (std::uint32_t k = 0; k < 3; ++k) r[i.b + k].clear();
  r[i.a].take(slice);
}

void op_ListAppend(Vm& vm, Value* r, const Instruction& i) {
  r[i.a].as<List>().items.push_back(operand(vm, r, i.b));
}

void op_ListExtend(Vm& vm, Value* r, const Instruction& i) {
  std::vector<Value> more = vm.interpreter().to_vector(r[i.b]);
  consume(vm, r, i.b);
  auto& items = r[i.a].as<List>().items;
  items.insert(items.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void op_ListToTuple(Vm&, Value* r, const Instruction& i) {
  Value tuple = make<Tuple>(std::move(r[i.a].as<List>().items));
  r[i.a].take(tuple);
}

void op_DictSet(Vm& vm, Value* r, const Instruction& i) {
  r[i.a].as<Dict>().set(r[i.b], r[i.c]);
  consume(vm, r, i.b);
  consume(vm, r, i.c);
}

void op_DictMerge(Vm& vm, Value* r, const Instruction& i) {
  if (!r[i.b].is(Tag::Dict)) raise("TypeError", "`**` takes a dict here, not " + describe(r[i.b]));
  const Value from = operand(vm, r, i.b);
  for (const Dict::Entry& entry : from.as<Dict>().entries()) {
    if (entry.live) r[i.a].as<Dict>().set(entry.key, entry.value);
  }
}

void op_BuildSet(Vm&, Value* r, const Instruction& i) { r[i.a] = make<Set>(); }

void op_SetAdd(Vm& vm, Value* r, const Instruction& i) {
  r[i.a].as<Set>().add(r[i.b]);
  consume(vm, r, i.b);
}

void op_SetExtend(Vm& vm, Value* r, const Instruction& i) {
  vm.interpreter().iterate(r[i.b], [&](const Value& item) {
    r[i.a].as<Set>().add(item);
    return true;
  });
  consume(vm, r, i.b);
}

namespace {

// For keys of a dict or items of a list that a loop takes apart, where pairs were meant.
std::string help_with_pairs(const Frame& frame, const Value* r, const Instruction& i) {
  const std::vector<Instruction>& all = frame.code->instructions;
  for (std::size_t at = 0; at < all.size() && i.c == 2; ++at) {
    const bool gives_item = all[at].opcode() == Opcode::NextFor && all[at].b == i.b &&
                            static_cast<std::ptrdiff_t>(at) + all[at].c_number() == &i - all.data();
    if (gives_item && r[all[at].a].is(Tag::Dict))
      return "a loop over a dict gives its keys; write `for key, value in d.items() { … }`";
    if (gives_item && r[all[at].a].is(Tag::List) && r[i.b].is_number())
      return "each item with its place is given by `enumerate(xs)`";
  }
  return "";
}

}  // namespace

void op_Unpack(Vm& vm, Value* r, const Instruction& i) {
  if (!can_be_unpacked(r[i.b])) {
    raise("TypeError", "cannot unpack " + describe(r[i.b]) + " into " + std::to_string(i.c) + " names",
          help_with_pairs(*vm.frame(), r, i));
  }
  const Value source = r[i.b];  // in place for the caret of an error
  std::vector<Value> items;
  const bool is_stored = source.is(Tag::Tuple) || source.is(Tag::List);
  if (!is_stored) items = vm.interpreter().to_vector(source);
  const auto& from = source.is(Tag::Tuple)  ? source.as<Tuple>().items
                     : source.is(Tag::List) ? source.as<List>().items
                                            : items;
  if (from.size() != i.c) {
    raise("ValueError",
          "cannot unpack " + describe(source) + " into " + std::to_string(i.c) + " names" +
              (is_stored ? "" : ": it has " + std::to_string(from.size()) + " items"),
          help_with_pairs(*vm.frame(), r, i));
  }
  consume(vm, r, i.b);
  for (std::size_t k = 0; k < i.c; ++k) r[i.a + k].assign(from[k]);
}

void op_UnpackStar(Vm& vm, Value* r, const Instruction& i) {
  const std::size_t before = i.c / 256U;
  const std::size_t after = i.c % 256U;
  std::vector<Value> items = vm.interpreter().to_vector(r[i.b]);
  if (items.size() < before + after) {
    raise("ValueError", "cannot unpack " + describe(r[i.b]) + ": at least " +
                            how_many(before + after, "item") + (before + after == 1 ? " is" : " are") +
                            " needed, it has " + std::to_string(items.size()));
  }
  consume(vm, r, i.b);
  const std::size_t rest = items.size() - before - after;
  for (std::size_t k = 0; k < before; ++k) r[i.a + k].take(items[k]);
  for (std::size_t k = 0; k < after; ++k) r[i.a + before + 1 + k].take(items[before + rest + k]);
  const auto begin = items.begin() + static_cast<std::ptrdiff_t>(before);
  Value list = make<List>(std::vector<Value>(
      std::make_move_iterator(begin), std::make_move_iterator(begin + static_cast<std::ptrdiff_t>(rest))));
  r[i.a + before].take(list);
}

// A view was already written through; what an index copied has to be written back.
void op_SetIndexBack(Vm& vm, Value* r, const Instruction& i) {
  if (!is_written_through(r[i.a], r[i.c])) set_index(vm.interpreter(), r[i.a], r[i.b], r[i.c]);
  consume(vm, r, i.a);
  consume(vm, r, i.b);
  consume(vm, r, i.c);
}

void op_DeleteIndex(Vm& vm, Value* r, const Instruction& i) {
  delete_index(vm.interpreter(), r[i.a], r[i.b]);
  consume(vm, r, i.a);
  consume(vm, r, i.b);
}

void op_LoadUnset(Vm&, Value* r, const Instruction& i) { r[i.a] = Value::unset(); }

void op_FormatValue(Vm& vm, Value* r, const Instruction& i) {
  Interpreter& interpreter = vm.interpreter();
  const std::string& spec = r[i.b + 1].as<Str>().text;
  std::string text;
  if (i.c == 'r') {
    text = interpreter.repr(r[i.b]);
  } else if (i.c == 's') {
    text = interpreter.str(r[i.b]);
  } else {
    text = format_value(interpreter, r[i.b], spec);
  }
  if (i.c != 0 && !spec.empty()) text = format_value(interpreter, Value(text), spec);
  r[i.b + 1].clear();
  Value result = make<Str>(std::move(text));
  r[i.a].take(result);
}

void op_JoinText(Vm&, Value* r, const Instruction& i) {
  std::string text;
  for (std::uint32_t k = 0; k < i.c; ++k) {
    text += r[i.b + k].as<Str>().text;
    r[i.b + k].clear();
  }
  Value result = make<Str>(std::move(text));
  r[i.a].take(result);
}

void op_Binary(Vm& vm, Value* r, const Instruction& i) {
  Value result = binary_operator(vm.interpreter(), static_cast<lang::BinaryOp>((&i)[1].a), r[i.b], r[i.c]);
  consume(vm, r, i.b);
  consume(vm, r, i.c);
  r[i.a].take(result);
}

void op_AugBinary(Vm& vm, Value* r, const Instruction& i) {
  augmented_operator(vm.interpreter(), static_cast<lang::BinaryOp>(i.c), r[i.a], r[i.b]);
  consume(vm, r, i.b);
}

void op_Compare(Vm& vm, Value* r, const Instruction& i) {
  Value result = compare_operator(vm.interpreter(), static_cast<lang::CompareOp>((&i)[1].a), r[i.b], r[i.c]);
  consume(vm, r, i.b);
  consume(vm, r, i.c);
  r[i.a].take(result);
}

namespace {

void unary(Vm& vm, lang::UnaryOp op, Value* r, const Instruction& i) {
  Value result = unary_operator(vm.interpreter(), op, r[i.b]);
  consume(vm, r, i.b);
  r[i.a].take(result);
}

}  // namespace

void op_Negate(Vm& vm, Value* r, const Instruction& i) { unary(vm, lang::UnaryOp::Neg, r, i); }
void op_Positive(Vm& vm, Value* r, const Instruction& i) { unary(vm, lang::UnaryOp::Pos, r, i); }
void op_Invert(Vm& vm, Value* r, const Instruction& i) { unary(vm, lang::UnaryOp::Invert, r, i); }
void op_Not(Vm& vm, Value* r, const Instruction& i) { unary(vm, lang::UnaryOp::Not, r, i); }

}  // namespace kiln::interp
