#include "jit/llvm/flow_expression.h"

#include <set>

#include "jit/llvm/kernel_code.h"
#include "jit/llvm/scalar_names.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {

using Elements = VectorSteps::Elements;

FlowTensor backwards(FlowEmitter& emit, FlowTensor x, const std::vector<bool>& dims) {
  llvm::IRBuilder<>& build = emit.build();
  for (std::size_t dim = 0; dim < dims.size(); ++dim) {
    if (!dims[dim]) continue;
    llvm::Value* const last = build.CreateSub(x.sizes[dim], emit.int_value(1));
    x.offset = build.CreateAdd(x.offset, build.CreateMul(last, x.strides[dim]));
    x.strides[dim] = build.CreateNeg(x.strides[dim]);
  }
  return x;
}

namespace {

// A step that is left to several readers has its leaves once.
void add_leaves(const FlowRow& row, std::set<const FlowRow*>& seen, std::vector<FlowTensor>& leaves);

void add_leaves(const FlowTensor& x, std::set<const FlowRow*>& seen, std::vector<FlowTensor>& leaves) {
  if (!x.deferred) {
    leaves.push_back(x);
  } else if (seen.insert(x.deferred.get()).second) {
    add_leaves(*x.deferred, seen, leaves);
  }
}

void add_leaves(const FlowRow& row, std::set<const FlowRow*>& seen, std::vector<FlowTensor>& leaves) {
  if (row.plan.kind == FlowStepPlan::Kind::Copy) {
    const FlowTensor& from = row.operands.back();
    return add_leaves(row.plan.dims.empty() ? from : backwards(row.emit, from, row.plan.dims), seen, leaves);
  }
  for (const FlowTensor& each : row.operands) add_leaves(each, seen, leaves);
}

template <class T>
std::vector<FlowTensor> all_leaves(const T& of) {
  std::vector<FlowTensor> leaves;
  std::set<const FlowRow*> seen;
  add_leaves(of, seen, leaves);
  return leaves;
}

}  // namespace

std::vector<FlowTensor> leaves_of(const FlowTensor& x) { return all_leaves(x); }
std::vector<FlowTensor> leaves_of(const FlowRow& row) { return all_leaves(row); }

ElementsFn FlowExpression::reader(const FlowTensor& x, const Compute* compute) {
  return x.deferred ? elements_once(*x.deferred) : reader(lines_[next_++], compute);
}

// Each time that the whole is computed, so are its parts.
ElementsFn FlowExpression::anew(ElementsFn whole) {
  return [this, whole = std::move(whole)](llvm::Value* index, llvm::Value* rest) {
    computed_.clear();
    return whole(index, rest);
  };
}

// What a step gives, computed where the first of its readers asks.
ElementsFn FlowExpression::elements_once(const FlowRow& row) {
  if (!readers_.contains(&row)) readers_.emplace(&row, elements(row));
  return [this, &row](llvm::Value* index, llvm::Value* rest) {
    const auto known = computed_.find(&row);
    if (known != computed_.end()) return known->second;
    return computed_.emplace(&row, readers_.at(&row)(index, rest)).first->second;
  };
}

// What is the same for all elements is made ready before the loop, as `compute` reads it.
ElementsFn FlowExpression::reader(FlowLine line, const Compute* compute) {
  if (line.element == nullptr) line = line_of(emit_, line.dtype, line.first, line.stride);
  if (line.element == nullptr) {
    return [this, line](llvm::Value* index, llvm::Value* rest) {
      return Elements{load_elements(emit_, line, index, rest), line.dtype};
    };
  }
  Elements same{emit_.build().CreateVectorSplat(kVector, line.element), line.dtype};
  if (compute != nullptr) same = {steps_.in(same, *compute), dtype_of(*compute)};
  return [same](llvm::Value*, llvm::Value*) { return same; };
}

ElementsFn FlowExpression::elements(const FlowRow& row) {
  if (row.plan.kind == FlowStepPlan::Kind::Pointwise) return application(row);
  const ElementsFn from = reader(row.operands.back(), nullptr);
  const DType dtype = row.result.dtype;
  return [this, from, dtype](llvm::Value* index, llvm::Value* rest) {
    return Elements{steps_.converted(from(index, rest), dtype), dtype};
  };
}

ElementsFn FlowExpression::application(const FlowRow& row) {
  const Instruction& application = row.plan.application;
  const Pointwise& function = *application.op->pointwise;
  std::vector<ElementsFn> operands;
  for (std::size_t k = 0; k < row.operands.size(); ++k) {
    const bool is_mask = static_cast<int>(k) == function.mask;
    operands.push_back(reader(row.operands[k], is_mask ? nullptr : &application.compute));
  }
  const DType made = function.rule == TypeRule::Predicate ? DType::Bool : application.dtype;
  return [this, &row, &application, operands, made](llvm::Value* index, llvm::Value* rest) {
    std::vector<Elements> elements;
    for (const ElementsFn& each : operands) elements.push_back(each(index, rest));
    const auto kernel = static_cast<std::size_t>(application.index);
    const BodyCalls::Result result = steps_.apply(application, kernel, elements);
    llvm::IRBuilder<>& build = emit_.build();
    if (application.failure >= 0)
      emit_.leave_if(build.CreateICmpNE(result.bad, build.getInt32(0)), row.step.exit);
    return Elements{steps_.converted({result.value, made}, row.result.dtype), row.result.dtype};
  };
}

}  // namespace kiln::jit
