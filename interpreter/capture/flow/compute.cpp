// Instructions that compute, compare and jump.
#include "interpreter/capture/flow/reader.h"
#include "interpreter/capture/observe.h"
#include "interpreter/vm/registers.h"

namespace kiln::interp::capture {

using lang::BinaryOp;
using lang::CompareOp;
using lang::UnaryOp;

bool FlowReader::operate() {
  const Instruction& i = at();
  const FlowItem small = FlowItem::constant(std::int64_t{i.c_number()});
  switch (opcode()) {
#define KILN_ARITHMETIC_CASE(name)                                                  \
  case Opcode::name:                                                                \
    reg(i.a) = binary(BinaryOp::name, reg(i.b), reg(i.c));                          \
    return true;                                                                    \
  case Opcode::name##Int:                                                           \
    reg(i.a) = binary(BinaryOp::name, reg(i.b), small);                             \
    return true;                                                                    \
  case Opcode::Aug##name:                                                           \
    augmented(BinaryOp::name, i.a, reg(i.b));                                       \
    return true;                                                                    \
  case Opcode::Aug##name##Int:                                                      \
    augmented(BinaryOp::name, i.a, FlowItem::constant(std::int64_t{i.b_number()})); \
    return true;
    KILN_ARITHMETIC_CASE(Add)
    KILN_ARITHMETIC_CASE(Sub)
    KILN_ARITHMETIC_CASE(Mul)
#undef KILN_ARITHMETIC_CASE
    case Opcode::Div:
      reg(i.a) = binary(BinaryOp::Div, reg(i.b), reg(i.c));
      return true;
    case Opcode::FloorDiv:
      reg(i.a) = binary(BinaryOp::FloorDiv, reg(i.b), reg(i.c));
      return true;
    case Opcode::Mod:
      reg(i.a) = binary(BinaryOp::Mod, reg(i.b), reg(i.c));
      return true;
    case Opcode::ModInt:
      reg(i.a) = binary(BinaryOp::Mod, reg(i.b), small);
      return true;
    case Opcode::Binary:
      reg(i.a) = binary(static_cast<BinaryOp>((&i)[1].a), reg(i.b), reg(i.c));
      return true;
    case Opcode::AugDiv:
      augmented(BinaryOp::Div, i.a, reg(i.b));
      return true;
    case Opcode::AugBinary:
      augmented(static_cast<BinaryOp>(i.c), i.a, reg(i.b));
      return true;
    case Opcode::Negate:
      reg(i.a) = unary(UnaryOp::Neg, reg(i.b));
      return true;
    case Opcode::Positive:
      reg(i.a) = unary(UnaryOp::Pos, reg(i.b));
      return true;
    case Opcode::Invert:
      reg(i.a) = unary(UnaryOp::Invert, reg(i.b));
      return true;
    case Opcode::Not:
      reg(i.a) = negated(truth(reg(i.b)));
      return true;
    case Opcode::Compare:
      reg(i.a) = identity_compared(static_cast<CompareOp>((&i)[1].a), reg(i.b), reg(i.c));
      return true;
    default:
      return false;
  }
}

bool FlowReader::compare_and_jump() {
  const Instruction& i = at();
  const auto op = comparison_of(opcode());
  if (!op) return false;
  const std::string_view letters = operands(opcode());
  if (letters == "wrr") {
    reg(i.a) = compared(*op, reg(i.b), reg(i.c));
    return true;
  }
  const FlowItem other = letters == "rrj" ? reg(i.b) : FlowItem::constant(std::int64_t{i.b_number()});
  const FlowItem holds = truth(compared(*op, reg(i.a), other));
  const bool is_negated = name(opcode()).starts_with("JumpIfNot");
  const std::size_t to = target(), next = frame().pc + 1;
  notes_.settle_guards();
  branch(holds, is_negated ? next : to, is_negated ? to : next);
  return true;
}

bool FlowReader::jump() {
  const Instruction& i = at();
  switch (opcode()) {
    case Opcode::Jump:
    case Opcode::Loop:
      go_to(target());
      return true;
    case Opcode::JumpIfTrue:
    case Opcode::JumpIfTrueKeep: {
      const FlowItem holds = truth(reg(i.a));
      notes_.settle_guards();
      branch(holds, target(), frame().pc + 1);
      return true;
    }
    case Opcode::ChainLink:
      if (reg(i.a).is(FlowItem::Kind::Tensor)) throw Unsupported{"a chain of comparisons of tensors"};
      [[fallthrough]];
    case Opcode::JumpIfFalse:
    case Opcode::JumpIfFalseKeep: {
      const FlowItem holds = truth(reg(i.a));
      notes_.settle_guards();
      branch(holds, frame().pc + 1, target());
      return true;
    }
    case Opcode::BeginFor:
      begin_for();
      return true;
    case Opcode::NextFor:
      next_for();
      return true;
    case Opcode::Return:
    case Opcode::ReturnNone: {
      FlowItem value;
      if (opcode() == Opcode::Return) value = reg(i.a);
      return_value(std::move(value));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace kiln::interp::capture
