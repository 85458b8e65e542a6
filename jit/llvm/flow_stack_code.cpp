// What a flow pushes on its stack and pops off it: numbers and elements, each at a multiple of eight bytes.
#include <llvm/IR/MDBuilder.h>

#include <bit>

#include "jit/llvm/flow_rows.h"
#include "jit/llvm/flow_values.h"
#include "jit/llvm/vector_types.h"

namespace kiln::jit {
namespace {

constexpr std::int64_t kWord = 8;

FlowTensor row_major(FlowEmitter& emit, FlowTensor x) {
  llvm::Value* stride = emit.int_value(1);
  for (std::size_t dim = x.rank(); dim-- > 0;) {
    x.strides[dim] = stride;
    stride = emit.size_product(x.sizes[dim], stride);
  }
  return x;
}

}  // namespace

llvm::Value* FlowEmitter::bytes_on_stack(const FlowTensor& x) {
  if (x.rank() == 0) return int_value(kWord);
  const auto item = static_cast<std::int64_t>(bytes_of(x.dtype));
  llvm::Value* const bytes = build_.CreateMul(count(x), int_value(item));
  return build_.CreateAnd(build_.CreateAdd(bytes, int_value(kWord - 1)), int_value(-kWord));
}

// The address of so many bytes more.
llvm::Value* FlowEmitter::push_bytes(llvm::Value* bytes) {
  llvm::Type* const word = build_.getInt64Ty();
  llvm::Value* const used = build_.CreateLoad(word, stack_used_);
  llvm::Value* const next = build_.CreateAdd(used, bytes);
  llvm::BasicBlock* const grows = block("grows");
  llvm::BasicBlock* const on = block("on");
  build_.CreateCondBr(build_.CreateICmpSGT(next, field(kFlowStackRoom, word)), grows, on,
                      llvm::MDBuilder(context_).createBranchWeights(1, 1U << 20));
  build_.SetInsertPoint(grows);
  leave_if(build_.CreateIsNull(ask(kFlowReserve, std::vector<llvm::Value*>{used, next})), kCannotFail);
  build_.CreateBr(on);
  build_.SetInsertPoint(on);
  build_.CreateStore(next, stack_used_);
  return build_.CreateGEP(build_.getInt8Ty(), field(kFlowStack, pointer_), used);
}

// Where they begin, from the beginning of the stack.
llvm::Value* FlowEmitter::pop_bytes(llvm::Value* bytes) {
  llvm::Value* const used = build_.CreateLoad(build_.getInt64Ty(), stack_used_);
  llvm::Value* const next = build_.CreateSub(used, bytes);
  build_.CreateStore(next, stack_used_);
  return next;
}

void FlowEmitter::emit_push(const FlowStep& step) {
  const Operand& pushed = step.node.operands[0];
  if (pushed.is_number() || flow().type(pushed.value).is_number)
    return set_word(push_bytes(int_value(kWord)), 0, number(pushed));
  const FlowTensor x = tensor(pushed);
  if (x.rank() == 0) {
    llvm::Value* const element = load(x);
    build_.CreateStore(element, push_bytes(int_value(kWord)));
    return;
  }
  FlowTensor copy = row_major(*this, x);
  copy.base = push_bytes(bytes_on_stack(x));
  copy.offset = int_value(0);
  copy_elements(*this, x, copy);
}

void FlowEmitter::emit_pop(const FlowStep& step) {
  const ValueId id = step.node.outputs[0];
  llvm::Value* const stack = field(kFlowStack, pointer_);
  const auto element = [&](llvm::Type* type) {
    llvm::Value* const place = build_.CreateGEP(build_.getInt8Ty(), stack, pop_bytes(int_value(kWord)));
    return word(place, 0, type);
  };
  const Type& type = flow().type(id);
  if (type.is_number) return define(id, element(number_type(type.dtype)));
  FlowTensor made = described(id);
  if (plan_.value(id).in_register) {
    llvm::Value* const place = build_.CreateGEP(build_.getInt8Ty(), stack, pop_bytes(int_value(kWord)));
    made.element = build_.CreateLoad(element_type(type.dtype), place);
    made.origin = int_value(0);
  } else {
    // Kernels are given the memory of the stack, and where in it the elements are.
    const auto item = static_cast<std::uint64_t>(std::countr_zero(bytes_of(type.dtype)));
    made.base = stack;
    made.offset = build_.CreateLShr(pop_bytes(bytes_on_stack(made)), item, "", true);
  }
  tensors_[static_cast<std::size_t>(id)] = made;
}

}  // namespace kiln::jit
