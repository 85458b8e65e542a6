#include "jit/llvm/flow_values.h"

#include "jit/llvm/vector_types.h"
#include "tensor/compute.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {

llvm::Type* FlowEmitter::number_type(DType kind) {
  if (kind == DType::Bool) return build_.getInt1Ty();
  return kind == DType::F64 ? build_.getDoubleTy() : build_.getInt64Ty();
}
llvm::Type* FlowEmitter::element_type(DType dtype) { return scalar_type(context_, dtype); }

llvm::Value* FlowEmitter::number(const Operand& operand) {
  if (operand.is_value()) return numbers_[static_cast<std::size_t>(operand.value)];
  if (const auto* flag = std::get_if<bool>(&operand.number)) return build_.getInt1(*flag);
  if (const auto* real = std::get_if<double>(&operand.number))
    return llvm::ConstantFP::get(context_, llvm::APFloat(*real));
  return size(std::get<Dim>(operand.number));
}

DType FlowEmitter::dtype(const Operand& operand) const {
  if (operand.is_value()) return flow().type(operand.value).dtype;
  if (std::holds_alternative<bool>(operand.number)) return DType::Bool;
  return std::holds_alternative<double>(operand.number) ? DType::F64 : DType::I64;
}

FlowTensor FlowEmitter::tensor(const Operand& operand) {
  if (operand.is_value() && !flow().type(operand.value).is_number)
    return tensors_[static_cast<std::size_t>(operand.value)];
  FlowTensor made;
  made.dtype = dtype(operand);
  made.element = number(operand);
  made.origin = int_value(0);
  if (made.dtype == DType::Bool) made.element = build_.CreateZExt(made.element, build_.getInt8Ty());
  return made;
}

FlowTensor FlowEmitter::described(ValueId id) {
  const Layout& layout = plan_.value(id).layout;
  FlowTensor made;
  made.dtype = flow().type(id).dtype;
  made.offset = int_value(0);
  for (const Dim each : layout.sizes) made.sizes.push_back(size(each));
  for (const Dim each : layout.strides) made.strides.push_back(size(each));
  return made;
}

llvm::Value* FlowEmitter::size(Dim size) {
  llvm::Value* const made = sizes_.size(size);
  products_.note(made, size);
  return made;
}

llvm::Value* FlowEmitter::size_product(llvm::Value* a, llvm::Value* b) {
  llvm::Value* const made = build_.CreateMul(a, b);
  products_.note_product(made, a, b);
  return made;
}

llvm::Value* FlowEmitter::count(const FlowTensor& x) {
  llvm::Value* total = int_value(1);
  for (llvm::Value* const each : x.sizes) total = build_.CreateMul(total, each);
  return total;
}

// ---- Elements ----

llvm::Value* FlowEmitter::address(const FlowTensor& x, std::span<llvm::Value* const> indices) {
  llvm::Value* place = x.offset;
  for (std::size_t d = 0; d < indices.size(); ++d)
    place = build_.CreateAdd(place, build_.CreateMul(indices[d], x.strides[d]));
  return build_.CreateGEP(element_type(x.dtype), x.base, place);
}

llvm::Value* FlowEmitter::load(const FlowTensor& x, std::span<llvm::Value* const> indices) {
  if (x.base == nullptr) return x.element;
  return build_.CreateAlignedLoad(element_type(x.dtype), address(x, indices), llvm::Align(bytes_of(x.dtype)));
}

void FlowEmitter::store(llvm::Value* element, const FlowTensor& x, std::span<llvm::Value* const> indices) {
  build_.CreateAlignedStore(element, address(x, indices), llvm::Align(bytes_of(x.dtype)));
}

llvm::Value* FlowEmitter::apply(const FlowStep& step, const Instruction& application,
                                std::span<llvm::Value* const> elements, std::span<const DType> dtypes) {
  const Pointwise& row = *application.op->pointwise;
  std::vector<llvm::Value*> operands;
  for (std::size_t k = 0; k < elements.size(); ++k) {
    operands.push_back(static_cast<int>(k) == row.mask
                           ? elements[k]
                           : scalars_.widened(elements[k], dtypes[k], application.compute));
  }
  const ScalarCalls::Result made = scalars_.apply(application, operands);
  if (application.failure >= 0) leave_if(build_.CreateICmpNE(made.bad, build_.getInt32(0)), step.exit);
  if (row.rule == TypeRule::Predicate) return converted(made.value, DType::Bool, application.dtype);
  return scalars_.narrowed(made.value, application.compute, application.dtype);
}

llvm::Value* FlowEmitter::converted(llvm::Value* element, DType from, DType to) {
  if (from == to) return element;
  return scalars_.narrowed(scalars_.widened(element, from, compute_of(from)), compute_of(from), to);
}

// ---- Control ----

void FlowEmitter::loop(llvm::Value* count, const std::function<void(llvm::Value*)>& body) {
  llvm::BasicBlock* const before = build_.GetInsertBlock();
  llvm::BasicBlock* const top = block("loop");
  llvm::BasicBlock* const done = block("done");
  build_.CreateCondBr(build_.CreateICmpSGT(count, int_value(0)), top, done);
  build_.SetInsertPoint(top);
  llvm::PHINode* const index = build_.CreatePHI(build_.getInt64Ty(), 2);
  index->addIncoming(int_value(0), before);
  body(index);
  llvm::Value* const next = build_.CreateAdd(index, int_value(1), "", true, true);
  index->addIncoming(next, build_.GetInsertBlock());
  build_.CreateCondBr(build_.CreateICmpSLT(next, count), top, done);
  build_.SetInsertPoint(done);
}

}  // namespace kiln::jit
