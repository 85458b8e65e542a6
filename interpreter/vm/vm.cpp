// The dispatch loop: the instructions that must be fast, written out; the others, called.
#include "interpreter/vm/vm.h"

#include <cmath>

#include "interpreter/values/collector.h"
#include "interpreter/vm/operators.h"
#include "interpreter/vm/vm_numbers.h"
#include "interpreter/vm/vm_slow.h"
#include "tensor/parallel.h"

// Labels as values keep one indirect jump per instruction, which the branch predictor needs.
#pragma GCC diagnostic ignored "-Wpedantic"

namespace kiln::interp {
namespace {

// Counted from the end when negative; null when there is none.
template <class Items>
inline auto item_at(Items& items, std::int64_t index) -> decltype(items.data()) {
  auto at = static_cast<std::uint64_t>(index);
  if (index < 0) at += items.size();
  return at < items.size() ? items.data() + at : nullptr;
}
inline const std::vector<Value>& items_in(const Value& v) {
  return v.is(Tag::List) ? v.as<List>().items : v.as<Tuple>().items;
}

// Gives `target` a part of `owner`, which is released afterwards when it is a temporary.
inline void replace_with(Value& target, const Value& part, Value& owner, bool consume) {
  Value copy = part;
  if (consume) owner.clear();
  target.take(copy);
}

}  // namespace

// Each handler ends in NEXT or JUMP. `frame->pc` is written before anything that can throw.
#define SAVE() frame->pc = pc
#define DISPATCH() goto* labels[pc->op]
#define NEXT    \
  do {          \
    ++pc;       \
    DISPATCH(); \
  } while (false)
#define JUMP(offset)                                                        \
  do {                                                                      \
    if (interrupt_requested.load(std::memory_order_relaxed)) [[unlikely]] { \
      held_jump = (offset);                                                 \
      goto stop_on_interrupt;                                               \
    }                                                                       \
    pc += (offset);                                                         \
    DISPATCH();                                                             \
  } while (false)
// As JUMP, where the jump may be the one back to the top of a loop without an iterator: its iterations are
// counted, which those of `for` are when it begins.
#define JUMP_BACK(offset)                                \
  do {                                                   \
    const std::ptrdiff_t distance = (offset);            \
    if (distance < 0 && --uncounted == 0) [[unlikely]] { \
      held_jump = distance;                              \
      goto count_trips;                                  \
    }                                                    \
    JUMP(distance);                                      \
  } while (false)
#define RELOAD()     \
  do {               \
    frame = frame_;  \
    r = frame->base; \
    pc = frame->pc;  \
  } while (false)

#define ARITHMETIC(name)                                                                                 \
  name:                                                                                                  \
  if (arithmetic<name##Numbers>(r[pc->b], r[pc->c], r[pc->a])) [[likely]]                                \
    NEXT;                                                                                                \
  SAVE();                                                                                                \
  slow_binary(*this, lang::BinaryOp::name, r, *pc);                                                      \
  NEXT;                                                                                                  \
  name##Int : if (arithmetic_number<name##Numbers>(r[pc->b], pc->c_number(), r[pc->a])) [[likely]] NEXT; \
  SAVE();                                                                                                \
  slow_binary_number(*this, lang::BinaryOp::name, r, *pc);                                               \
  NEXT;                                                                                                  \
  Aug##name : if (arithmetic<name##Numbers>(r[pc->a], r[pc->b], r[pc->a])) [[likely]] NEXT;              \
  SAVE();                                                                                                \
  slow_augmented(*this, lang::BinaryOp::name, r, *pc);                                                   \
  NEXT;                                                                                                  \
  Aug##name##Int : if (arithmetic_number<name##Numbers>(r[pc->a], pc->b_number(), r[pc->a]))             \
                       [[likely]] NEXT;                                                                  \
  SAVE();                                                                                                \
  slow_augmented_number(*this, lang::BinaryOp::name, r, *pc);                                            \
  NEXT;

#define ORDER_JUMP(label, name, operation, wanted, JUMP)                                                 \
  label: {                                                                                               \
    const Value& x = r[pc->a];                                                                           \
    const Value& y = r[pc->b];                                                                           \
    if (both(x, y, Tag::Int)) {                                                                          \
      if ((x.as_int() operation y.as_int()) == wanted) JUMP(pc->c_number());                             \
      NEXT;                                                                                              \
    }                                                                                                    \
    if (both(x, y, Tag::Float)) {                                                                        \
      if ((x.as_float() operation y.as_float()) == wanted) JUMP(pc->c_number());                         \
      NEXT;                                                                                              \
    }                                                                                                    \
    SAVE();                                                                                              \
    if (slow_compare_truth(*this, lang::CompareOp::name, r, *pc) == wanted) JUMP(pc->c_number());        \
    NEXT;                                                                                                \
  }                                                                                                      \
  label##Int : {                                                                                         \
    const Value& x = r[pc->a];                                                                           \
    if (x.is(Tag::Int)) {                                                                                \
      if ((x.as_int() operation std::int64_t{pc->b_number()}) == wanted) JUMP(pc->c_number());           \
      NEXT;                                                                                              \
    }                                                                                                    \
    if (x.is(Tag::Float)) {                                                                              \
      if ((x.as_float() operation pc->b_number()) == wanted) JUMP(pc->c_number());                       \
      NEXT;                                                                                              \
    }                                                                                                    \
    SAVE();                                                                                              \
    if (slow_compare_number_truth(*this, lang::CompareOp::name, r, *pc) == wanted) JUMP(pc->c_number()); \
    NEXT;                                                                                                \
  }

#define ORDER(name, operation)                               \
  name: {                                                    \
    const Value& x = r[pc->b];                               \
    const Value& y = r[pc->c];                               \
    if (both(x, y, Tag::Int)) {                              \
      r[pc->a].put(x.as_int() operation y.as_int());         \
      NEXT;                                                  \
    }                                                        \
    if (both(x, y, Tag::Float)) {                            \
      r[pc->a].put(x.as_float() operation y.as_float());     \
      NEXT;                                                  \
    }                                                        \
    SAVE();                                                  \
    slow_compare(*this, lang::CompareOp::name, r, *pc);      \
    NEXT;                                                    \
  }                                                          \
  ORDER_JUMP(JumpIf##name, name, operation, true, JUMP_BACK) \
  ORDER_JUMP(JumpIfNot##name, name, operation, false, JUMP)

// Gives the result in the place of the function, which may end there, and its code with it.
#define RETURN(give)                                       \
  do {                                                     \
    const std::uint32_t used = pc->b;                      \
    give;                                                  \
    for (std::uint32_t i = 0; i < used; ++i) r[i].clear(); \
    const bool is_entry = frame == entry;                  \
    frame_ = --frame;                                      \
    if (is_entry) return true;                             \
    r = frame->base;                                       \
    pc = frame->pc + 1;                                    \
    DISPATCH();                                            \
  } while (false)

// Runs until `entry` returns, or stops at a `yield`. Throws whatever an instruction throws, with `frame_` and
// its pc as they were.
[[gnu::noinline]] bool Vm::run(Frame* entry, std::uint64_t* budget) {
  static constexpr void* kLabels[] = {
#define KILN_FAST(name, operands) &&name,
#define KILN_CALL(name, operands) &&name,
#include "interpreter/values/opcodes.def"
  };
  // For calls of limited length: every instruction is counted first, and others pay nothing for it.
  static constexpr void* kCounted[] = {
#define KILN_FAST(name, operands) &&count,
#define KILN_CALL(name, operands) &&count,
#include "interpreter/values/opcodes.def"
  };
  // While lines are timed (line_clock.h), every instruction may find that its line is to be noted.
  static constexpr void* kTimed[] = {
#define KILN_FAST(name, operands) &&timed,
#define KILN_CALL(name, operands) &&timed,
#include "interpreter/values/opcodes.def"
  };
  // In a register: the compiler would form the table's address anew at every jump.
  void* const* labels = budget != nullptr ? kCounted : line_is_due_ != nullptr ? kTimed : kLabels;
  asm("" : "+r"(labels));
  Frame* frame;
  Value* r;
  const Instruction* pc;
  std::ptrdiff_t held_jump = 0;                // the jump at which an interrupt was seen
  std::uint32_t uncounted = trips_at_once();   // jumps back until they are counted
  constexpr std::uint32_t kNotedAfter = 1000;  // instructions, a few microseconds
  std::uint32_t unnoted = 0;                   // of them, since lines are timed
  RELOAD();
  DISPATCH();

count:
  if (*budget == 0) {
    SAVE();
    return false;
  }
  --*budget;
  goto* kLabels[pc->op];
timed:
  // A machine that is busy with other work may keep the thread of ticks waiting: instructions are counted,
  // too.
  if (line_is_due_->load(std::memory_order_relaxed) || ++unnoted == kNotedAfter) [[unlikely]] {
    SAVE();
    note_line();
    unnoted = 0;
  }
  timed_ = pc;
  goto* kLabels[pc->op];
count_trips:
  SAVE();
  uncounted = trips_at_once();
  count_trips(uncounted);
  JUMP(held_jump);
stop_on_interrupt:
  SAVE();
  interrupt();  // comes back where the interrupt has to wait
  pc += held_jump;
  DISPATCH();

LoadConstant:
  r[pc->a].assign(frame->code->constants[static_cast<std::size_t>(pc->wide())]);
  NEXT;
LoadInt:
  r[pc->a].put(std::int64_t{pc->wide()});
  NEXT;
LoadNone:
  r[pc->a].put_none();
  NEXT;
LoadBool:
  r[pc->a].put(pc->b != 0);
  NEXT;
LoadEllipsis:
  r[pc->a].assign(Value::ellipsis());
  NEXT;
Copy:
  r[pc->a].assign(r[pc->b]);
  NEXT;
Take:
  r[pc->a].take(r[pc->b]);
  NEXT;
Drop:
  r[pc->a].clear();
  NEXT;
CheckLocal:
  if (r[pc->a].is_unset()) [[unlikely]] {
    SAVE();
    unset_error(*this, frame->code->names[static_cast<std::size_t>(pc->wide())]);
  }
  NEXT;
GetGlobal: {
  const Value& value = frame->slots[pc->b];
  if (value.is_unset()) [[unlikely]] {
    SAVE();
    r[pc->a].assign(find_global(*pc));
    NEXT;
  }
  r[pc->a].assign(value);
  NEXT;
}
GetPrelude: {
  const Value& value = frame->slots[pc->b];
  if (!value.is_unset()) [[unlikely]] {
    r[pc->a].assign(value);
    NEXT;
  }
  const Value& host = prelude_->slots[pc->c];
  if (host.is_unset()) [[unlikely]] {
    SAVE();
    r[pc->a].assign(find_global(*pc));
    NEXT;
  }
  r[pc->a].assign(host);
  NEXT;
}
SetGlobal: {
  Value& target = frame->slots[pc->b];
  target.take(r[pc->a]);
  NEXT;
}
GetCell: {
  const Value& value = r[pc->b].as<Cell>().value;
  if (value.is_unset()) [[unlikely]] {
    SAVE();
    unset_error(*this, frame->code->names[pc->c]);
  }
  r[pc->a].assign(value);
  NEXT;
}
SetCell: {
  Value& target = r[pc->b].as<Cell>().value;
  target.take(r[pc->a]);
  NEXT;
}
GetCapture: {
  const Value& value = frame->function->captures[pc->b].as<Cell>().value;
  if (value.is_unset()) [[unlikely]] {
    SAVE();
    unset_error(*this, frame->code->names[pc->c]);
  }
  r[pc->a].assign(value);
  NEXT;
}
SetCapture: {
  Value& target = frame->function->captures[pc->b].as<Cell>().value;
  target.take(r[pc->a]);
  NEXT;
}

  ARITHMETIC(Add)
  ARITHMETIC(Sub)
  ARITHMETIC(Mul)

Div:
  if (divide(r[pc->b], r[pc->c], r[pc->a])) [[likely]]
    NEXT;
  SAVE();
  slow_binary(*this, lang::BinaryOp::Div, r, *pc);
  NEXT;
AugDiv:
  if (divide(r[pc->a], r[pc->b], r[pc->a])) [[likely]]
    NEXT;
  SAVE();
  slow_augmented(*this, lang::BinaryOp::Div, r, *pc);
  NEXT;
FloorDiv: {
  const Value& x = r[pc->b];
  const Value& y = r[pc->c];
  if (both(x, y, Tag::Int) && y.as_int() > 0) [[likely]] {
    const Division division = floor_divide(x.as_int(), y.as_int());
    r[pc->a].put(division.quotient);
    NEXT;
  }
  SAVE();
  slow_binary(*this, lang::BinaryOp::FloorDiv, r, *pc);
  NEXT;
}
Mod: {
  const Value& x = r[pc->b];
  const Value& y = r[pc->c];
  if (both(x, y, Tag::Int) && y.as_int() > 0) [[likely]] {
    r[pc->a].put(floor_divide(x.as_int(), y.as_int()).rest);
    NEXT;
  }
  SAVE();
  slow_binary(*this, lang::BinaryOp::Mod, r, *pc);
  NEXT;
}
ModInt: {
  const Value& x = r[pc->b];
  const std::int64_t y = pc->c_number();
  if (x.is(Tag::Int) && y > 0) [[likely]] {
    r[pc->a].put(floor_divide(x.as_int(), y).rest);
    NEXT;
  }
  SAVE();
  slow_binary_number(*this, lang::BinaryOp::Mod, r, *pc);
  NEXT;
}
Word:
  NEXT;

  ORDER(Eq, ==)
  ORDER(Ne, !=)
  ORDER(Lt, <)
  ORDER(Le, <=)
  ORDER(Gt, >)
  ORDER(Ge, >=)

Jump:
  pc += pc->wide();
  DISPATCH();
Loop:
  JUMP_BACK(pc->wide());
JumpIfTrue: {
  Value& x = r[pc->a];
  bool holds;
  if (x.is(Tag::Bool)) {
    holds = x.as_bool();
  } else {
    SAVE();
    holds = slow_truth(*this, x, frame->is_temporary(pc->a));
  }
  if (holds) JUMP_BACK(pc->wide());
  NEXT;
}
JumpIfFalse: {
  Value& x = r[pc->a];
  bool holds;
  if (x.is(Tag::Bool)) {
    holds = x.as_bool();
  } else {
    SAVE();
    holds = slow_truth(*this, x, frame->is_temporary(pc->a));
  }
  if (!holds) JUMP(pc->wide());
  NEXT;
}
JumpIfTrueKeep:
  SAVE();
  if (r[pc->a].is(Tag::Bool) ? r[pc->a].as_bool() : slow_truth(*this, r[pc->a], false)) {
    pc += pc->wide();
    DISPATCH();
  }
  r[pc->a].clear();
  NEXT;
ChainLink:
  if (r[pc->a].is(Tag::Tensor)) [[unlikely]] {
    SAVE();
    tensor_chain_error();
  }
  goto JumpIfFalseKeep;
JumpIfFalseKeep:
  SAVE();
  if (!(r[pc->a].is(Tag::Bool) ? r[pc->a].as_bool() : slow_truth(*this, r[pc->a], false))) {
    pc += pc->wide();
    DISPATCH();
  }
  r[pc->a].clear();
  NEXT;

NextFor: {
  Value& state = r[pc->a];
  if (state.is(Tag::Int)) {  // a range: the next number, how many are left, the step
    Value* const rest = &state + 1;
    const std::int64_t left = rest[0].as_int();
    if (left == 0) NEXT;
    const std::int64_t number = state.as_int();
    rest[0].renew(left - 1);
    // The number after the last may not fit; it is never used.
    state.renew(static_cast<std::int64_t>(static_cast<std::uint64_t>(number) +
                                          static_cast<std::uint64_t>(rest[1].as_int())));
    r[pc->b].put(number);
    JUMP(pc->c_number());
  }
  if (state.is(Tag::List)) {
    const auto at = static_cast<std::size_t>(r[pc->a + 1].as_int());
    const std::vector<Value>& items = state.as<List>().items;
    if (at < items.size()) {
      r[pc->a + 1].put(static_cast<std::int64_t>(at + 1));
      r[pc->b].assign(items[at]);
      JUMP(pc->c_number());
    }
    state.clear();
    NEXT;
  }
  SAVE();
  if (slow_next(*this, r, *pc)) JUMP(pc->c_number());
  NEXT;
}

Call: {
  Value& callee = r[pc->a];
  SAVE();
  if (callee.is(Tag::Function)) [[likely]] {
    const Function& function = callee.as<Function>();
    const Code& code = *function.code;
    if (code.plain_arity == static_cast<std::int32_t>(pc->b)) [[likely]] {
      frame = enter(frame, function, &callee + 1);
      r = &callee + 1;
      pc = frame->pc;
      DISPATCH();
    }
  }
  if (begin_call(&callee, pc->b)) {
    RELOAD();
    DISPATCH();
  }
  NEXT;
}
CallMethod: {
  SAVE();
  if (begin_method_call(&r[pc->a], pc->b, frame->code->sites[pc->c])) {
    RELOAD();
    DISPATCH();
  }
  NEXT;
}
CallSpread:
  SAVE();
  if (begin_spread_call(*this, r, *pc)) {
    RELOAD();
    DISPATCH();
  }
  NEXT;
CallMethodSpread:
  SAVE();
  if (begin_spread_method_call(*this, r, *pc)) {
    RELOAD();
    DISPATCH();
  }
  NEXT;

Return:
  RETURN(r[-1].replace_object(r[pc->a]));
ReturnNone:
  RETURN(r[-1].replace_object(Value()));

Yield:
  yielded_ = r[pc->a];
  if (frame->is_temporary(pc->a)) r[pc->a].clear();
  frame->pc = pc + 1;
  return false;

Capture: {
  SAVE();
  const capture::Next next =
      std::exchange(skips_mark_, false) ? capture::Next::Interpret : at_mark(frame, entry);
  if (next == capture::Next::Returned && frame_ < entry) return true;
  RELOAD();
  if (next == capture::Next::Interpret)
    goto* kLabels[static_cast<std::size_t>(frame->code->opcode_at(frame->place()))];
  if (next == capture::Next::Returned) ++pc;
  DISPATCH();
}

GetIndex: {
  const Value& object = r[pc->b];
  const Value& index = r[pc->c];
  if (index.is(Tag::Int) && (object.is(Tag::List) || object.is(Tag::Tuple))) {
    if (const Value* item = item_at(items_in(object), index.as_int())) [[likely]] {
      replace_with(r[pc->a], *item, r[pc->b], frame->is_temporary(pc->b));
      NEXT;
    }
  }
  SAVE();
  slow_get_index(*this, r, *pc);
  NEXT;
}
SetIndex: {
  const Value& object = r[pc->a];
  const Value& index = r[pc->b];
  if (index.is(Tag::Int) && object.is(Tag::List) && !frame->is_temporary(pc->a)) {
    if (Value* item = item_at(object.as<List>().items, index.as_int())) [[likely]] {
      if (frame->is_temporary(pc->c)) {
        item->take(r[pc->c]);
      } else {
        item->assign(r[pc->c]);
      }
      NEXT;
    }
  }
  SAVE();
  slow_set_index(*this, r, *pc);
  NEXT;
}
GetAttribute: {
  const Value& object = r[pc->b];
  const Site& site = frame->code->sites[pc->c];
  if (object.is(Tag::Instance) && site.kind == Site::Kind::Field) {
    const Instance& instance = object.as<Instance>();
    if (instance.struct_type().id == site.struct_id && !instance.fields[site.index].is_unset()) [[likely]] {
      replace_with(r[pc->a], instance.fields[site.index], r[pc->b], frame->is_temporary(pc->b));
      NEXT;
    }
  }
  SAVE();
  slow_get_attribute(*this, r, *pc);
  NEXT;
}

#define KILN_FAST(name, operands)
#define KILN_CALL(name, operands) \
  name:                           \
  SAVE();                         \
  op_##name(*this, r, *pc);       \
  NEXT;
#include "interpreter/values/opcodes.def"
}

}  // namespace kiln::interp
