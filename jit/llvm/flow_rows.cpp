#include "jit/llvm/flow_rows.h"

#include <functional>
#include <set>

#include "jit/llvm/flow_row_limits.h"
#include "jit/llvm/vector_types.h"

namespace kiln::jit {
namespace {

// The bytes that a tensor shows, from the first to behind the last one, as numbers.
struct Extent {
  llvm::Value *first, *last;
};
Extent extent_of(FlowEmitter& emit, const FlowTensor& x) {
  llvm::IRBuilder<>& build = emit.build();
  llvm::Value* const first = build.CreatePtrToInt(emit.address(x), build.getInt64Ty());
  llvm::Value* elements = emit.int_value(1);
  for (std::size_t dim = 0; dim < x.rank(); ++dim) {
    llvm::Value* const steps = build.CreateSub(x.sizes[dim], emit.int_value(1));
    elements = build.CreateAdd(elements, build.CreateMul(steps, x.strides[dim]));
  }
  llvm::Value* const bytes =
      build.CreateMul(elements, emit.int_value(static_cast<std::int64_t>(bytes_of(x.dtype))));
  return {first, build.CreateAdd(first, bytes)};
}

bool shows_same(const FlowTensor& a, const FlowTensor& b) {
  return a.dtype == b.dtype && a.base == b.base && a.offset == b.offset && a.sizes == b.sizes &&
         a.strides == b.strides;
}

llvm::Value* is_apart(FlowEmitter& emit, const FlowTensor& a, const FlowTensor& b) {
  llvm::IRBuilder<>& build = emit.build();
  const Extent one = extent_of(emit, a), other = extent_of(emit, b);
  return build.CreateOr(build.CreateICmpULE(one.last, other.first),
                        build.CreateICmpULE(other.last, one.first));
}

// May `target` be written vector by vector, each after the same elements of `x` are read? Either each element
// is in the same place, or none is in the memory of the other.
llvm::Value* is_in_order(FlowEmitter& emit, const FlowTensor& target, const FlowTensor& x) {
  llvm::IRBuilder<>& build = emit.build();
  if (x.element != nullptr || shows_same(target, x)) return build.getTrue();
  llvm::Value* const apart = is_apart(emit, target, x);
  if (x.rank() != target.rank() || x.dtype != target.dtype) return apart;
  llvm::Value* is_same = build.CreateICmpEQ(emit.address(target), emit.address(x));
  for (std::size_t dim = 0; dim < x.rank(); ++dim) {
    is_same = build.CreateAnd(is_same, build.CreateICmpEQ(x.strides[dim], target.strides[dim]));
    is_same = build.CreateAnd(is_same, build.CreateICmpEQ(x.sizes[dim], target.sizes[dim]));
  }
  return build.CreateOr(apart, is_same);
}
// The step, and those that are left to it, each once.
void each_row(const FlowRow& row, std::set<const FlowRow*>& seen,
              const std::function<void(const FlowRow&)>& f) {
  f(row);
  for (const FlowTensor& each : row.operands)
    if (each.deferred && seen.insert(each.deferred.get()).second) each_row(*each.deferred, seen, f);
}

// Does a condition hold of all that a step, with those that are left to it, reads in memory or registers?
llvm::Value* all_read(const FlowRow& whole,
                      const std::function<llvm::Value*(const FlowRow& row, const FlowTensor& x)>& condition) {
  llvm::IRBuilder<>& build = whole.emit.build();
  llvm::Value* holds = build.getTrue();
  std::set<const FlowRow*> seen;
  each_row(whole, seen, [&](const FlowRow& row) {
    const bool is_copy = row.plan.kind == FlowStepPlan::Kind::Copy;
    for (std::size_t k = is_copy ? row.operands.size() - 1 : 0; k < row.operands.size(); ++k)
      if (!row.operands[k].deferred) holds = build.CreateAnd(holds, condition(row, row.operands[k]));
  });
  return holds;
}

// May `target` be written so of all that a step reads?
llvm::Value* is_in_order(const FlowRow& row, const FlowTensor& target) {
  return all_read(row, [&target](const FlowRow& of, const FlowTensor& x) {
    return of.plan.dims.empty() ? is_in_order(of.emit, target, x) : is_apart(of.emit, target, x);
  });
}

// Has each dimension of an operand the size of the result's, where it is not known to be 1?
llvm::Value* fills(FlowEmitter& emit, const FlowTensor& x, const std::vector<llvm::Value*>& sizes) {
  llvm::IRBuilder<>& build = emit.build();
  llvm::Value* holds = build.getTrue();
  if (x.rank() > sizes.size()) return build.getFalse();
  const std::size_t absent = sizes.size() - x.rank();
  for (std::size_t dim = 0; dim < x.rank(); ++dim) {
    llvm::Value* const size = x.sizes[dim];
    llvm::Value* const wanted = sizes[absent + dim];
    const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(size);
    if (size == wanted || (number != nullptr && number->isOne())) continue;
    holds = build.CreateAnd(holds, build.CreateICmpEQ(size, wanted));
  }
  return holds;
}

llvm::Value* all_fill(const FlowRow& row) {
  return all_read(row, [](const FlowRow& of, const FlowTensor& x) -> llvm::Value* {
    if (x.element != nullptr) return of.emit.build().getTrue();
    return fills(of.emit, x, of.result.sizes);
  });
}

llvm::Value* elements_fit(const FlowRow& row) {
  if (!row.step.node.writes()) return leaves_fit(row);
  return row.plan.application.failure >= 0 ? nullptr : leaves_fit(row);
}

// It and those that are left to it.
std::int64_t steps_of(const FlowRow& row) {
  std::int64_t steps = 0;
  std::set<const FlowRow*> seen;
  each_row(row, seen, [&steps](const FlowRow&) { ++steps; });
  return steps;
}

llvm::Value* fill_fits(const FlowRow& row) {
  FlowEmitter& emit = row.emit;
  return emit.build().CreateICmpSLE(emit.count(row.result), emit.int_value(kMostRowElements));
}

// Is each operand as large as the result in all dimensions but the one along which they are joined?
llvm::Value* join_fits(const FlowRow& row) {
  llvm::Value* holds = fill_fits(row);
  for (const FlowTensor& each : row.operands) {
    if (each.element != nullptr) return nullptr;
    std::vector<llvm::Value*> sizes = row.result.sizes;
    for (std::size_t dim = 0; dim < sizes.size(); ++dim)
      if (row.plan.dims[dim]) sizes[dim] = each.sizes[dim];
    holds = row.emit.build().CreateAnd(holds, fills(row.emit, each, sizes));
  }
  return holds;
}

llvm::Value* pick_fits(const FlowRow& row) {
  const bool in_memory = row.operands[0].element == nullptr && row.operands[1].element == nullptr;
  return in_memory ? fill_fits(row) : nullptr;
}

}  // namespace

// One loop goes once over memory where kernels, which share work among threads, go over it once for each of
// its steps.
llvm::Value* leaves_fit(const FlowRow& row) {
  llvm::IRBuilder<>& build = row.emit.build();
  llvm::Value* is_quicker = fill_fits(row);
  const std::int64_t steps = steps_of(row);
  if (steps > 1) {
    llvm::Value* const has_few_threads = build.CreateICmpSLT(row.emit.threads(), row.emit.int_value(steps));
    is_quicker = build.CreateOr(is_quicker, has_few_threads);
  }
  return build.CreateAnd(is_quicker, all_fill(row));
}

llvm::Value* is_in_order(const FlowRow& row) {
  const bool reads =
      row.plan.kind == FlowStepPlan::Kind::Pointwise || row.plan.kind == FlowStepPlan::Kind::Copy;
  return reads && row.step.node.writes() ? is_in_order(row, row.result) : row.emit.build().getTrue();
}

llvm::Value* fits(const FlowRow& row) {
  switch (row.plan.kind) {
    case FlowStepPlan::Kind::Pointwise:
    case FlowStepPlan::Kind::Copy:
      return elements_fit(row);
    case FlowStepPlan::Kind::Fill:
      return fill_fits(row);
    case FlowStepPlan::Kind::Pick:
      return pick_fits(row);
    case FlowStepPlan::Kind::Join:
      return join_fits(row);
    case FlowStepPlan::Kind::Reduce:
      return reduction_fits(row);
    case FlowStepPlan::Kind::Product:
      return product_fits(row);
    default:
      return nullptr;
  }
}

}  // namespace kiln::jit
