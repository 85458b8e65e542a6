// Products of vectors and small matrices in flows as loops in the documented order.
#include "jit/llvm/flow_lanes.h"
#include "jit/llvm/flow_row_limits.h"
#include "jit/llvm/flow_rows.h"
#include "jit/llvm/flow_space.h"
#include "jit/llvm/kernel_code.h"
#include "jit/llvm/scalar_names.h"
#include "jit/llvm/vector_steps.h"
#include "jit/llvm/vector_types.h"
#include "tensor/product_order.h"

namespace kiln::jit {
namespace {

// Operands of `matmul` as matrices: a vector on the left is a row, on the right a column.
struct Matrices {
  FlowTensor left, right;
  llvm::Value* rows() const { return left.sizes[0]; }
  llvm::Value* depth() const { return left.sizes[1]; }
  llvm::Value* columns() const { return right.sizes[1]; }
};

Matrices matrices_of(const FlowRow& row) {
  FlowEmitter& emit = row.emit;
  Matrices made{row.operands[0], row.operands[1]};
  if (made.left.rank() == 1) {
    made.left.sizes.insert(made.left.sizes.begin(), emit.int_value(1));
    made.left.strides.insert(made.left.strides.begin(), emit.int_value(0));
  }
  if (made.right.rank() == 1) {
    made.right.sizes.push_back(emit.int_value(1));
    made.right.strides.push_back(emit.int_value(0));
  }
  return made;
}

bool is_one(const llvm::Value* size) { return FlowLine::is_number(size, 1); }
bool has_vector(const FlowRow& row) { return row.operands[0].rank() == 1 || row.operands[1].rank() == 1; }

// Is the product known to be one with a row or a column, so that its sums are in lanes? Those of a column of
// one element and a row are none (multiplies_pairs in tensor/ops/products.h).
bool is_in_lanes(const FlowRow& row, const Matrices& matrices) {
  if (has_vector(row)) return true;
  return (is_one(matrices.rows()) || is_one(matrices.columns())) && !is_one(matrices.depth());
}
// Known not to be a vector of columns.
bool is_row(const Matrices& matrices) { return is_one(matrices.rows()) && !is_one(matrices.columns()); }

// The elements of a result that has one row or one column.
FlowLine line_of_result(const FlowRow& row, bool is_row) {
  const FlowTensor& x = row.result;
  llvm::Value* stride = row.emit.int_value(0);
  if (x.rank() > 0) stride = x.strides[x.rank() == 2 && !is_row ? 0 : x.rank() - 1];
  return {x.dtype, row.emit.address(x), stride, nullptr};
}

// A row or a column of a matrix: the elements along `dim` from index `at` of the other one on.
FlowLine line_along(FlowEmitter& emit, const FlowTensor& x, std::size_t dim, llvm::Value* at) {
  const std::size_t other = 1 - dim;
  llvm::IRBuilder<>& build = emit.build();
  llvm::Value* const first =
      build.CreateGEP(emit.element_type(x.dtype), emit.address(x), build.CreateMul(at, x.strides[other]));
  return {x.dtype, first, x.strides[dim], nullptr};
}

void store_at(const FlowRow& row, llvm::Value* place, llvm::Value* sum) {
  const Compute compute = combining_compute(row.result.dtype);
  llvm::Value* const element = row.emit.scalars().narrowed(sum, compute, row.result.dtype);
  row.emit.build().CreateAlignedStore(element, place, llvm::Align(bytes_of(row.result.dtype)));
}

// Each element of the result is a sum in lanes. Of the factors that of the matrix comes first.
void emit_vector_product(const FlowRow& row, const Matrices& matrices) {
  FlowEmitter& emit = row.emit;
  const bool by_columns = is_row(matrices);
  llvm::IRBuilder<>& build = emit.build();
  const FlowLine to = line_of_result(row, by_columns);
  llvm::Value* const zero = emit.int_value(0);
  emit.loop(by_columns ? matrices.columns() : matrices.rows(), [&](llvm::Value* at) {
    const FlowLine left = line_along(emit, matrices.left, 1, by_columns ? zero : at);
    const FlowLine right = line_along(emit, matrices.right, 0, by_columns ? at : zero);
    llvm::Value* const sum =
        dot_lines(emit, matrices.depth(), by_columns ? right : left, by_columns ? left : right);
    store_at(row, build.CreateGEP(emit.element_type(to.dtype), to.first, build.CreateMul(at, to.stride)),
             sum);
  });
}

// Sums of kVector columns of a matrix, each times the same element of a row.
class ColumnSums {
 public:
  ColumnSums(FlowEmitter& emit, const FlowTensor& matrix, DType dtype)
      : emit_(emit),
        matrix_(matrix),
        dtype_(dtype),
        compute_(combining_compute(dtype)),
        steps_(emit.bodies(), emit.build(), emit.vectors()) {}

  llvm::Type* type() const { return vector_type(emit_.build().getContext(), dtype_of(compute_)); }
  // With the products of element p of `row` and columns from `index` on, for each `step`th p from `begin` on.
  llvm::Value* with_products(const Round& start, const FlowLine& row, llvm::Value* begin, std::int64_t step,
                             llvm::Value* index, llvm::Value* rest) {
    llvm::IRBuilder<>& build = emit_.build();
    llvm::Type* const type = emit_.element_type(dtype_);
    const auto term = [&](llvm::Value* p, const Round& sums) {
      const FlowLine right = line_along(emit_, matrix_, 1, p);
      llvm::Value* const factors = steps_.in({load_elements(emit_, right, index, rest), dtype_}, compute_);
      llvm::Value* const place = build.CreateGEP(type, row.first, build.CreateMul(p, row.stride));
      llvm::Value* const element = build.CreateAlignedLoad(type, place, llvm::Align(bytes_of(dtype_)));
      llvm::Value* const factor = steps_.in({build.CreateVectorSplat(kVector, element), dtype_}, compute_);
      return Round{sum(build, sums[0], product(build, factors, factor))};
    };
    return carried_loop(emit_, begin, matrix_.sizes[0], step, start, term)[0];
  }
  void store(llvm::Value* sums, const FlowLine& to, llvm::Value* index, llvm::Value* rest) {
    store_elements(emit_, to, index, rest, steps_.stored(sums, compute_, dtype_));
  }

 private:
  FlowEmitter& emit_;
  const FlowTensor& matrix_;
  DType dtype_;
  Compute compute_;
  VectorSteps steps_;
};

// The lanes of a sum folded in halves, each of kVector sums side by side. The first one is the sum then.
void fold_lanes(FlowEmitter& emit, llvm::Value* lanes, llvm::Type* vector) {
  llvm::IRBuilder<>& build = emit.build();
  for (std::int64_t half = kReductionLanes / 2; half > 0; half /= 2) {
    emit.loop(emit.int_value(half), [&](llvm::Value* lane) {
      llvm::Value* const low = build.CreateGEP(vector, lanes, lane);
      llvm::Value* const high = build.CreateGEP(vector, low, emit.int_value(half));
      llvm::Value* const both = sum(build, build.CreateLoad(vector, low), build.CreateLoad(vector, high));
      build.CreateStore(both, low);
    });
  }
}

// A row times a matrix whose columns lie beside each other: vectors of columns at a time, each lane of their
// sums by itself, as dot_lines has them.
void emit_row_product(const FlowRow& row, const Matrices& matrices) {
  FlowEmitter& emit = row.emit;
  llvm::IRBuilder<>& build = emit.build();
  ColumnSums columns(emit, matrices.right, row.result.dtype);
  llvm::Type* const vector = columns.type();
  llvm::Value* const lanes = emit.stack(vector, kReductionLanes);
  const FlowLine left = line_along(emit, matrices.left, 1, emit.int_value(0));
  const FlowLine to = line_of_result(row, true);
  each_vector(emit, matrices.columns(), [&](llvm::Value* index, llvm::Value* rest) {
    emit.loop(emit.int_value(kReductionLanes), [&](llvm::Value* lane) {
      const Round start{llvm::Constant::getNullValue(vector)};
      llvm::Value* const sums = columns.with_products(start, left, lane, kReductionLanes, index, rest);
      build.CreateStore(sums, build.CreateGEP(vector, lanes, lane));
    });
    fold_lanes(emit, lanes, vector);
    columns.store(build.CreateLoad(vector, lanes), to, index, rest);
  });
}

// A sum begins with 0; but products of a column and a row are what they are: -0 stays so.
llvm::Value* first_sum(FlowEmitter& emit, Compute compute, llvm::Value* depth) {
  llvm::IRBuilder<>& build = emit.build();
  llvm::Type* const type = vector_type(build.getContext(), dtype_of(compute));
  llvm::Constant* const zero = llvm::Constant::getNullValue(type);
  if (!type->isFPOrFPVectorTy()) return zero;
  llvm::Value* const is_pair = build.CreateICmpEQ(depth, emit.int_value(1));
  return build.CreateSelect(is_pair, llvm::ConstantFP::getNegativeZero(type), zero);
}

// Each element is added up in turn, vectors of columns at a time.
void emit_product_in_turn(const FlowRow& row, const Matrices& matrices) {
  FlowEmitter& emit = row.emit;
  ColumnSums columns(emit, matrices.right, row.result.dtype);
  const Round start{first_sum(emit, combining_compute(row.result.dtype), matrices.depth())};
  emit.loop(matrices.rows(), [&](llvm::Value* i) {
    const FlowLine left = line_along(emit, matrices.left, 1, i);
    const FlowLine to = line_along(emit, row.result, 1, i);
    each_vector(emit, matrices.columns(), [&](llvm::Value* index, llvm::Value* rest) {
      columns.store(columns.with_products(start, left, emit.int_value(0), 1, index, rest), to, index, rest);
    });
  });
}

}  // namespace

llvm::Value* product_fits(const FlowRow& row) {
  FlowEmitter& emit = row.emit;
  for (const FlowTensor& each : row.operands) {
    if (each.element != nullptr || each.rank() < 1 || each.rank() > 2) return nullptr;
    const bool is_half = each.dtype == DType::F16 || each.dtype == DType::BF16;
    if (each.dtype != row.operands[0].dtype || is_half) return nullptr;
  }
  if (emit.flow().type(row.step.node.outputs[0]).dtype != row.operands[0].dtype) return nullptr;
  llvm::IRBuilder<>& build = emit.build();
  const Matrices matrices = matrices_of(row);
  llvm::Value* const work =
      build.CreateMul(build.CreateMul(matrices.rows(), matrices.columns()), matrices.depth());
  const auto at_most = [&](llvm::Value* value, std::int64_t most) {
    return build.CreateICmpSLE(value, emit.int_value(most));
  };
  const auto is_several = [&](llvm::Value* size) { return build.CreateICmpSGT(size, emit.int_value(1)); };
  if (is_in_lanes(row, matrices)) {
    llvm::Value* const is_sum = has_vector(row) ? build.getTrue() : is_several(matrices.depth());
    return build.CreateAnd(
        is_sum, build.CreateAnd(at_most(matrices.depth(), kDotBlock), at_most(work, kMostRowElements)));
  }
  if (is_one(matrices.depth())) return at_most(work, kMostRowElements);
  return build.CreateAnd(at_most(work, kLeastFused),
                         build.CreateAnd(is_several(matrices.rows()), is_several(matrices.columns())));
}

void emit_product(const FlowRow& row) {
  const Matrices matrices = matrices_of(row);
  if (!is_in_lanes(row, matrices)) return emit_product_in_turn(row, matrices);
  if (is_row(matrices) && FlowLine::is_number(matrices.right.strides[1], 1))
    return emit_row_product(row, matrices);
  emit_vector_product(row, matrices);
}

}  // namespace kiln::jit
