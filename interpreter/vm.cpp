// The dispatch loop: the instructions that must be fast, written out; the others, called.
#include "interpreter/vm.h"

#include <cmath>

#include "interpreter/collector.h"
#include "interpreter/operators.h"
#include "interpreter/vm_slow.h"
#include "tensor/parallel.h"

// Labels as values keep one indirect jump per instruction, which the branch predictor needs.
#pragma GCC diagnostic ignored "-Wpedantic"

namespace kiln::interp {
namespace {

inline bool both(const Value& a, const Value& b, Tag tag) {
  return (unsigned{a.is(tag)} & unsigned{b.is(tag)}) != 0;
}

// An int or a float, not both of them ints.
inline bool real_pair(const Value& a, const Value& b) {
  const auto real = [](Tag t) { return static_cast<unsigned>(t) - static_cast<unsigned>(Tag::Int) <= 1U; };
  return (unsigned{real(a.tag())} & unsigned{real(b.tag())}) != 0;
}
inline double real(const Value& v) {
  return v.is(Tag::Float) ? v.as_float() : static_cast<double>(v.as_int());
}

// Gives `target` a part of `owner`, which is let go of afterwards when it is a temporary.
inline void replace_with(Value& target, const Value& part, Value& owner, bool consume) {
  Value copy = part;
  if (consume) owner.clear();
  target.take(copy);
}

}  // namespace

// Each handler ends in NEXT or JUMP. `frame->pc` is written before anything that can throw.
#define REGISTER(x) r[x]
#define DISPATCH() goto* kLabels[pc->op]
#define NEXT    \
  do {          \
    ++pc;       \
    DISPATCH(); \
  } while (false)
#define JUMP(offset)                                                        \
  do {                                                                      \
    if (interrupt_requested.load(std::memory_order_relaxed)) [[unlikely]] { \
      frame->pc = pc;                                                       \
      interrupt();                                                          \
    }                                                                       \
    pc += (offset);                                                         \
    DISPATCH();                                                             \
  } while (false)
#define SAVE() frame->pc = pc
#define RELOAD()     \
  do {               \
    frame = frame_;  \
    r = frame->base; \
    pc = frame->pc;  \
  } while (false)

// Ints first, then floats, then a mixture; what is left, and ints that overflow, is not written out here.
#define ARITHMETIC_PATHS(target, x, y, operation, builtin)      \
  if (both(x, y, Tag::Int)) {                                   \
    std::int64_t result;                                        \
    if (!builtin(x.as_int(), y.as_int(), &result)) [[likely]] { \
      target.put(result);                                       \
      NEXT;                                                     \
    }                                                           \
  } else if (both(x, y, Tag::Float)) {                          \
    target.put(x.as_float() operation y.as_float());            \
    NEXT;                                                       \
  } else if (real_pair(x, y)) {                                 \
    target.put(real(x) operation real(y));                      \
    NEXT;                                                       \
  }
#define DIVISION_PATHS(target, x, y)                              \
  if (both(x, y, Tag::Float)) {                                   \
    if (y.as_float() != 0) [[likely]] {                           \
      target.put(x.as_float() / y.as_float());                    \
      NEXT;                                                       \
    }                                                             \
  } else if (x.is(Tag::Float) & y.is(Tag::Int)) {                 \
    if (y.as_int() != 0) [[likely]] {                             \
      target.put(x.as_float() / static_cast<double>(y.as_int())); \
      NEXT;                                                       \
    }                                                             \
  }
#define ARITHMETIC_NUMBER_PATHS(target, x, number, operation, builtin)    \
  if (x.is(Tag::Int)) {                                                   \
    std::int64_t result;                                                  \
    if (!builtin(x.as_int(), std::int64_t{number}, &result)) [[likely]] { \
      target.put(result);                                                 \
      NEXT;                                                               \
    }                                                                     \
  } else if (x.is(Tag::Float)) {                                          \
    target.put(x.as_float() operation number);                            \
    NEXT;                                                                 \
  }

#define ARITHMETIC(name, operation, builtin)                               \
  name: {                                                                  \
    const Value& x = r[pc->b];                                             \
    const Value& y = r[pc->c];                                             \
    Value& target = r[pc->a];                                              \
    ARITHMETIC_PATHS(target, x, y, operation, builtin)                     \
    SAVE();                                                                \
    slow_binary(*this, lang::BinaryOp::name, r, *pc);                      \
    NEXT;                                                                  \
  }                                                                        \
  name##Int : {                                                            \
    const Value& x = r[pc->b];                                             \
    Value& target = r[pc->a];                                              \
    ARITHMETIC_NUMBER_PATHS(target, x, pc->c_number(), operation, builtin) \
    SAVE();                                                                \
    slow_binary_number(*this, lang::BinaryOp::name, r, *pc);               \
    NEXT;                                                                  \
  }                                                                        \
  Aug##name : {                                                            \
    Value& x = r[pc->a];                                                   \
    const Value& y = r[pc->b];                                             \
    ARITHMETIC_PATHS(x, x, y, operation, builtin)                          \
    SAVE();                                                                \
    slow_augmented(*this, lang::BinaryOp::name, r, *pc);                   \
    NEXT;                                                                  \
  }                                                                        \
  Aug##name##Int : {                                                       \
    Value& x = r[pc->a];                                                   \
    ARITHMETIC_NUMBER_PATHS(x, x, pc->b_number(), operation, builtin)      \
    SAVE();                                                                \
    slow_augmented_number(*this, lang::BinaryOp::name, r, *pc);            \
    NEXT;                                                                  \
  }

#define ORDER_JUMP(label, name, operation, wanted)                                                       \
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

#define ORDER(name, operation)                           \
  name: {                                                \
    const Value& x = r[pc->b];                           \
    const Value& y = r[pc->c];                           \
    if (both(x, y, Tag::Int)) {                          \
      r[pc->a].put(x.as_int() operation y.as_int());     \
      NEXT;                                              \
    }                                                    \
    if (both(x, y, Tag::Float)) {                        \
      r[pc->a].put(x.as_float() operation y.as_float()); \
      NEXT;                                              \
    }                                                    \
    SAVE();                                              \
    slow_compare(*this, lang::CompareOp::name, r, *pc);  \
    NEXT;                                                \
  }                                                      \
  ORDER_JUMP(JumpIf##name, name, operation, true)        \
  ORDER_JUMP(JumpIfNot##name, name, operation, false)

// Runs until `entry` returns. Throws whatever an instruction throws, with `frame_` and its pc as they were.
[[gnu::noinline]] void Vm::run(Frame* entry) {
  static constexpr void* kLabels[] = {
#define KILN_FAST(name, operands) &&name,
#define KILN_CALL(name, operands) &&name,
#include "interpreter/opcodes.def"
  };
  Frame* frame;
  Value* r;
  const Instruction* pc;
  RELOAD();
  DISPATCH();

LoadConstant:
  r[pc->a].assign(frame->constants[pc->wide()]);
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

  ARITHMETIC(Add, +, __builtin_add_overflow)
  ARITHMETIC(Sub, -, __builtin_sub_overflow)
  ARITHMETIC(Mul, *, __builtin_mul_overflow)

Div: {
  const Value& x = r[pc->b];
  const Value& y = r[pc->c];
  Value& target = r[pc->a];
  DIVISION_PATHS(target, x, y)
  SAVE();
  slow_binary(*this, lang::BinaryOp::Div, r, *pc);
  NEXT;
}
AugDiv: {
  Value& x = r[pc->a];
  const Value& y = r[pc->b];
  DIVISION_PATHS(x, x, y)
  SAVE();
  slow_augmented(*this, lang::BinaryOp::Div, r, *pc);
  NEXT;
}
FloorDiv: {
  const Value& x = r[pc->b];
  const Value& y = r[pc->c];
  if (both(x, y, Tag::Int) && y.as_int() > 0) [[likely]] {
    const std::int64_t quotient = x.as_int() / y.as_int();
    r[pc->a].put(quotient - (x.as_int() % y.as_int() < 0));
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
    const std::int64_t rest = x.as_int() % y.as_int();
    r[pc->a].put(rest < 0 ? rest + y.as_int() : rest);
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
    const std::int64_t rest = x.as_int() % y;
    r[pc->a].put(rest < 0 ? rest + y : rest);
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
  JUMP(pc->wide());
JumpIfTrue: {
  Value& x = r[pc->a];
  bool holds;
  if (x.is(Tag::Bool)) {
    holds = x.as_bool();
  } else {
    SAVE();
    holds = slow_truth(*this, x, frame->is_temporary(pc->a));
  }
  if (holds) JUMP(pc->wide());
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
      enter(function, &callee + 1);
      frame = frame_;
      r = frame->base;
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

Return: {
  const std::uint32_t used = pc->b;
  r[-1].take(r[pc->a]);  // the function may end here, and its code with it
  for (std::uint32_t i = 0; i < used; ++i) r[i].clear();
  if (frame == entry) {
    frame_ = frame - 1;
    return;
  }
  frame_ = --frame;
  r = frame->base;
  pc = frame->pc + 1;
  DISPATCH();
}
ReturnNone: {
  const std::uint32_t used = pc->b;
  r[-1].put_none();
  for (std::uint32_t i = 0; i < used; ++i) r[i].clear();
  if (frame == entry) {
    frame_ = frame - 1;
    return;
  }
  frame_ = --frame;
  r = frame->base;
  pc = frame->pc + 1;
  DISPATCH();
}

GetIndex: {
  const Value& object = r[pc->b];
  const Value& index = r[pc->c];
  if (object.is(Tag::List) && index.is(Tag::Int)) {
    const std::vector<Value>& items = object.as<List>().items;
    auto at = static_cast<std::uint64_t>(index.as_int());
    if (index.as_int() < 0) at += items.size();
    if (at < items.size()) [[likely]] {
      replace_with(r[pc->a], items[at], r[pc->b], frame->is_temporary(pc->b));
      NEXT;
    }
  }
  SAVE();
  slow_get_index(*this, r, *pc);
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
#include "interpreter/opcodes.def"
}

}  // namespace kiln::interp
