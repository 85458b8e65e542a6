// What each step of a flow becomes: numbers, addresses, elements, loops and calls of kernels.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "jit/llvm/flow_numbers.h"
#include "jit/llvm/flow_rows.h"
#include "jit/llvm/flow_values.h"
#include "jit/llvm/vector_types.h"
#include "tensor/compute.h"

namespace kiln::jit {
namespace {

void emit_loop(const FlowRow& row) {
  switch (row.plan.kind) {
    case FlowStepPlan::Kind::Reduce:
      return emit_reduction(row);
    case FlowStepPlan::Kind::Product:
      return emit_product(row);
    case FlowStepPlan::Kind::Copy:
      return emit_copy(row);
    case FlowStepPlan::Kind::Fill:
      return emit_fill(row);
    case FlowStepPlan::Kind::Pick:
      return emit_pick(row);
    case FlowStepPlan::Kind::Join:
      return emit_join(row);
    default:
      return emit_elementwise(row);
  }
}

}  // namespace

void FlowEmitter::emit_step(BlockId block, std::size_t index) {
  const FlowStep& step = flow().blocks[static_cast<std::size_t>(block)].steps[index];
  const FlowStepPlan& plan = plan_.step(block, index);
  check_guards(step.guards, step.exit);
  check_guards(plan.guards, step.exit);
  if (plan.kind == FlowStepPlan::Kind::OfNumbers)
    return define(step.node.outputs[0], emit_number(step, plan));
  if (plan.kind == FlowStepPlan::Kind::View) return emit_view(step);
  if (plan.kind == FlowStepPlan::Kind::Push) return emit_push(step);
  if (plan.kind == FlowStepPlan::Kind::Pop) return emit_pop(step);
  if (plan.of_elements) return emit_element(step, plan);
  if (plan.deferred) return defer(step, plan);
  emit_in_memory(step, plan);
}

void FlowEmitter::check_guards(std::span<const SizeGuard> guards, ExitId exit) {
  for (const SizeGuard& each : guards) leave_if(build_.CreateNot(sizes_.holds(each)), exit);
}

// ---- Numbers ----

llvm::Value* FlowEmitter::emit_number(const FlowStep& step, const FlowStepPlan& plan) {
  if (plan.number == NumberOp::Item) return emit_item(step);
  std::vector<llvm::Value*> operands;
  for (const Operand& each : step.node.operands) operands.push_back(number(each));
  if (plan.number == NumberOp::Call) {
    const ScalarCalls::Result made = scalars_.apply(plan.application, operands);
    leave_if(build_.CreateICmpNE(made.bad, build_.getInt32(0)), step.exit);
    return made.value;
  }
  const auto leave = [&](llvm::Value* condition) { leave_if(condition, step.exit); };
  const auto compute = [&](NumberOp op, llvm::Value* a, llvm::Value* b) {
    set_word(words_, 0, a);
    if (b != nullptr) set_word(words_, 1, b);
    llvm::Value* const is_float = int_value(a->getType()->isDoubleTy() ? 1 : 0);
    leave_if(build_.CreateIsNull(
                 ask(kFlowCompute, std::vector<llvm::Value*>{int_value(static_cast<int>(op)), is_float})),
             step.exit);
    return word(words_, 0, number_type(flow().type(step.node.outputs[0]).dtype));
  };
  return FlowNumbers(build_, {leave, compute}).apply(plan.number, operands);
}

llvm::Value* FlowEmitter::emit_item(const FlowStep& step) {
  const FlowTensor x = tensor(step.node.operands[0]);
  leave_if(build_.CreateICmpNE(count(x), int_value(1)), step.exit);
  llvm::Value* const element = load(x);
  if (x.dtype == DType::Bool) return build_.CreateIsNotNull(element);
  const Compute compute = compute_of(x.dtype);
  llvm::Value* const wide = scalars_.widened(element, x.dtype, compute);
  if (compute == Compute::F32 || compute == Compute::F64)
    return build_.CreateFPExt(wide, build_.getDoubleTy());
  return build_.CreateSExt(wide, build_.getInt64Ty());
}

// ---- Tensors ----

void FlowEmitter::emit_view(const FlowStep& step) {
  const FlowTensor x = tensor(step.node.operands[0]);
  for (const ValueId id : step.node.outputs) {
    FlowTensor made = described(id);
    made.base = x.base;
    made.offset = build_.CreateAdd(x.offset, size(plan_.value(id).layout.offset));
    tensors_[static_cast<std::size_t>(id)] = made;
  }
}

// Of operands without dimensions.
void FlowEmitter::emit_element(const FlowStep& step, const FlowStepPlan& plan) {
  llvm::Value* const element = element_of(step, plan);
  const ValueId id = step.node.outputs[0];
  FlowTensor& made = tensors_[static_cast<std::size_t>(id)];
  if (step.node.writes()) {
    made = tensor(step.node.operands[0]);
    return store(element, made);
  }
  made = described(id);
  if (plan_.value(id).in_register) {
    made.element = element;
    made.origin = int_value(0);
    return;
  }
  made.base = room_for(made, choose_slot(plan.memory[0]), step.exit);
  store(element, made);
}

llvm::Value* FlowEmitter::element_of(const FlowStep& step, const FlowStepPlan& plan) {
  if (plan.kind == FlowStepPlan::Kind::Copy) {
    const FlowTensor x = tensor(step.node.operands.back());
    return converted(load(x), x.dtype, flow().type(step.node.outputs[0]).dtype);
  }
  std::vector<llvm::Value*> elements;
  std::vector<DType> dtypes;
  for (const Operand& each : step.node.operands) {
    const FlowTensor x = tensor(each);
    elements.push_back(load(x));
    dtypes.push_back(x.dtype);
  }
  return apply(step, plan.application, elements, dtypes);
}

FlowRow FlowEmitter::row_of(const FlowStep& step, const FlowStepPlan& plan) {
  FlowRow row{*this, step, plan, {}, {}};
  for (const Operand& each : step.node.operands)
    row.operands.push_back(each.value == Operand::kAbsent ? FlowTensor() : tensor(each));
  row.result = step.node.writes() ? row.operands[0] : described(step.node.outputs[0]);
  return row;
}

void FlowEmitter::defer(const FlowStep& step, const FlowStepPlan& plan) {
  const ValueId id = step.node.outputs[0];
  FlowTensor made = described(id);
  made.deferred = std::make_shared<const FlowRow>(row_of(step, plan));
  tensors_[static_cast<std::size_t>(id)] = std::move(made);
}

// The tensor, whose elements are computed now by calls if that was left to its readers.
FlowTensor FlowEmitter::in_memory(const FlowTensor& x) {
  if (!x.deferred) return x;
  if (const auto known = called_.find(x.deferred.get()); known != called_.end()) return known->second;
  const std::vector<llvm::Value*> slots{choose_slot(x.deferred->plan.memory[0])};
  emit_call(*x.deferred, slots);
  FlowTensor made = described(x.deferred->step.node.outputs[0]);
  made.base = slot_field(slots[0], 0, pointer_);
  return called_.emplace(x.deferred.get(), made).first->second;
}

// Where the target shares memory with what is read, all is computed in memory apart and then copied.
void FlowEmitter::emit_write(const FlowRow& row) {
  const auto compute_apart = [&] {
    FlowRow apart = row;
    apart.result.offset = int_value(0);
    llvm::Value* stride = int_value(1);
    for (std::size_t dim = row.result.rank(); dim-- > 0;) {
      apart.result.strides[dim] = stride;
      stride = size_product(row.result.sizes[dim], stride);
    }
    apart.result.base = room_for(apart.result, int_value(row.plan.apart), row.step.exit);
    emit_loop(apart);
    copy_elements(*this, apart.result, row.result);
  };
  either(is_in_order(row), [&] { emit_loop(row); }, compute_apart);
}

void FlowEmitter::emit_in_memory(const FlowStep& step, const FlowStepPlan& plan) {
  FlowRow row = row_of(step, plan);
  const bool writes = step.node.writes();
  std::vector<llvm::Value*> slots;
  for (const FlowMemory& each : plan.memory) slots.push_back(choose_slot(each));
  // A loop leaves the only element of its result on the stack, and a call in the slot.
  llvm::Value* const is_loop = plan.kind == FlowStepPlan::Kind::Call ? nullptr : fits(row);
  const bool keeps_element = is_loop != nullptr && !writes && plan_.value(step.node.outputs[0]).in_register;
  llvm::Value* const place = keeps_element ? stack(element_type(row.result.dtype)) : nullptr;
  const auto make_loop = [&] {
    if (writes) return emit_write(row);
    row.result.base = keeps_element ? place : room_for(row.result, slots[0], step.exit);
    emit_loop(row);
  };
  const auto make_call = [&] {
    called_.clear();
    emit_call(row, slots);
    if (!keeps_element) return;
    row.result.base = slot_field(slots[0], 0, pointer_);
    build_.CreateStore(load(row.result), place);
  };
  either(is_loop, make_loop, make_call);
  for (std::size_t k = 0; k < step.node.outputs.size(); ++k) {
    const ValueId id = step.node.outputs[k];
    FlowTensor made = writes ? row.operands[0] : described(id);
    if (!writes) made.base = keeps_element ? place : slot_field(slots[k], 0, pointer_);
    if (plan_.value(id).in_register) {
      made.element = load(made);
      made.origin = int_value(0);
      made.base = nullptr;
    }
    tensors_[static_cast<std::size_t>(id)] = made;
  }
}

// The one or the other, by an i1; null: always the other.
void FlowEmitter::either(llvm::Value* condition, const std::function<void()>& then,
                         const std::function<void()>& other) {
  if (condition == nullptr) return other();
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition))
    return known->isOne() ? then() : other();
  llvm::BasicBlock* const here = block("here");
  llvm::BasicBlock* const there = block("there");
  llvm::BasicBlock* const done = block("done");
  build_.CreateCondBr(condition, here, there);
  build_.SetInsertPoint(here);
  then();
  build_.CreateBr(done);
  build_.SetInsertPoint(there);
  other();
  build_.CreateBr(done);
  build_.SetInsertPoint(done);
}

void FlowEmitter::emit_call(const FlowRow& row, std::span<llvm::Value* const> slots) {
  std::vector<FlowTensor> operands;  // first, since these are calls, too
  for (const FlowTensor& each : row.operands) operands.push_back(in_memory(each));
  std::size_t place = 0;
  const auto put = [&](llvm::Value* word) { set_word(words_, place++, word); };
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Operand& operand = row.step.node.operands[k];
    const Words words = is_tensor(operand) ? outside_words(operands[k]) : outside_words(operand);
    std::for_each(words.begin(), words.end(), put);
  }
  for (const std::string& each : row.plan.symbols) put(symbols_.at(each));
  std::for_each(slots.begin(), slots.end(), put);
  llvm::Value* const ran = ask(kFlowCall, std::vector<llvm::Value*>{int_value(row.plan.call)});
  leave_if(build_.CreateIsNull(ran), row.step.exit);
}

// ---- Memory of results ----

// The first one on which no tensor shows that lives on.
llvm::Value* FlowEmitter::choose_slot(const FlowMemory& memory) {
  llvm::Value* chosen = int_value(memory.first + memory.count - 1);
  for (int k = memory.count - 2; k >= 0; --k) {
    llvm::Value* const slot = int_value(memory.first + k);
    llvm::Value* const data = slot_field(slot, 0, pointer_);
    llvm::Value* is_held = build_.getFalse();
    for (const ValueId each : memory.held) {
      llvm::Value* const base = tensors_[static_cast<std::size_t>(each)].base;
      is_held = build_.CreateOr(is_held, build_.CreateICmpEQ(base, data));
    }
    chosen = build_.CreateSelect(is_held, chosen, slot);
  }
  return chosen;
}

llvm::Value* FlowEmitter::slot_field(llvm::Value* slot, std::uint64_t field, llvm::Type* type) {
  llvm::Value* const place = build_.CreateAdd(build_.CreateShl(slot, 1), build_.getInt64(field));
  return build_.CreateLoad(type, build_.CreateGEP(build_.getInt64Ty(), slots_, place));
}

// The memory of the slot, large enough for all elements.
llvm::Value* FlowEmitter::room_for(const FlowTensor& result, llvm::Value* slot, ExitId exit) {
  const auto item = static_cast<std::int64_t>(bytes_of(result.dtype));
  llvm::Value* const bytes = build_.CreateMul(count(result), int_value(item));
  llvm::BasicBlock* const grows = block("grows");
  llvm::BasicBlock* const on = block("on");
  llvm::Value* const is_short = build_.CreateICmpSLT(slot_field(slot, 1, build_.getInt64Ty()), bytes);
  build_.CreateCondBr(is_short, grows, on, llvm::MDBuilder(context_).createBranchWeights(1, 1U << 20));
  build_.SetInsertPoint(grows);
  leave_if(build_.CreateIsNull(ask(kFlowGrow, std::vector<llvm::Value*>{slot, bytes})), exit);
  build_.CreateBr(on);
  build_.SetInsertPoint(on);
  return slot_field(slot, 0, pointer_);
}

}  // namespace kiln::jit
