// Finds what helps with operands that do not fit: for a product, one in scope with which it does.
#include <array>

#include "interpreter/vm/errors.h"
#include "interpreter/vm/registers.h"
#include "tensor/core_ops.h"
#include "tensor/op.h"

namespace kiln::interp {
namespace {

bool fits(const kiln::Op& op, const kiln::TensorType& a, const kiln::TensorType& b) {
  try {
    const std::array<kiln::TensorType, 2> types = {a, b};
    op.infer(types, kiln::Attrs(op));
    return true;
  } catch (const OpError&) {
    return false;
  }
}

// With the last two axes exchanged.
kiln::TensorType transposed(kiln::TensorType type) {
  const std::size_t rank = type.sizes.size();
  std::swap(type.sizes[rank - 1], type.sizes[rank - 2]);
  return type;
}

struct Candidate {
  std::string_view name;
  const Value* value;
};

// Tensors the user can name here: the function's variables first, then the module's. Of the former those that
// are still read: a frame that compiled code rebuilt holds no others, and the suggestion is the same there.
std::vector<Candidate> tensors_in_scope(const Frame& frame) {
  std::vector<Candidate> found;
  const auto add = [&](std::string_view name, const Value& slot) {
    const Value& value = slot.is(Tag::Cell) ? slot.as<Cell>().value : slot;
    if (value.is(Tag::Tensor)) found.push_back({name, &value});
  };
  const auto locals = frame.code->function->locals;
  for (std::size_t i = 0; i < locals.size(); ++i) {
    if (frame.code->liveness().is_live(frame.place(), static_cast<std::uint32_t>(i)))
      add(locals[i], frame.base[i]);
  }
  for (std::size_t i = 0; i < frame.module().slots.size(); ++i)
    add(frame.module().names[i], frame.module().slots[i]);
  return found;
}

}  // namespace

std::string help_with_none(const Value& v) {
  return v.is_none() ? "a function without `return` gives none" : "";
}

std::string suggest_operand(Vm& vm, const Failure& failure) {
  const Frame& frame = *vm.frame();
  const bool is_matmul = frame.code->opcode_at(frame.place()) == Opcode::Binary &&
                         static_cast<lang::BinaryOp>(frame.pc[1].a) == lang::BinaryOp::MatMul;
  if (!is_matmul || failure.diagnostic.kind != "ShapeError") return "";
  const InstructionNote& note = frame.code->notes[frame.place()];
  const OperandNote& left = frame.code->operands[note.first_operand];
  const OperandNote& right = frame.code->operands[note.first_operand + 1];
  const Value& a = *operand_value(frame, 0);
  const Value& b = *operand_value(frame, 1);
  if (!a.is(Tag::Tensor) || !b.is(Tag::Tensor)) return "";
  const kiln::Op* op = &kiln::core_ops().matmul;
  const std::string_view text = frame.code->file->text();
  const std::string left_text(text.substr(left.begin, left.end - left.begin));
  const std::string right_text(text.substr(right.begin, right.end - right.begin));
  const kiln::TensorType left_type = a.tensor().type();
  const kiln::TensorType right_type = b.tensor().type();
  const std::size_t rank = right_type.sizes.size();
  if (rank >= 2 && !right.name.empty() && fits(*op, left_type, transposed(right_type))) {
    return "did you mean `" + left_text + " @ " + right_text +
           (rank == 2 ? ".t()`?" : ".transpose(-2, -1)`?");
  }
  if (right.name.empty()) return "";
  for (const Candidate& candidate : tensors_in_scope(frame)) {
    if (candidate.name == right.name || candidate.name == left.name) continue;
    if (!fits(*op, left_type, candidate.value->tensor().type())) continue;
    const std::string name(candidate.name);
    return "`" + name + "` is " + describe(*candidate.value) + "; did you mean `" + left_text + " @ " + name +
           "`?";
  }
  return "";
}

}  // namespace kiln::interp
