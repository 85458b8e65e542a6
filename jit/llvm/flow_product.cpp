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

bool has_vector(const FlowRow& row) { return row.operands[0].rank() == 1 || row.operands[1].rank() == 1; }

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
  const bool by_columns = row.operands[0].rank() == 1 && row.operands[1].rank() == 2;
  llvm::IRBuilder<>& build = emit.build();
  llvm::Value* const first = emit.address(row.result);
  llvm::Value* const zero = emit.int_value(0);
  emit.loop(by_columns ? matrices.columns() : matrices.rows(), [&](llvm::Value* at) {
    const FlowLine left = line_along(emit, matrices.left, 1, by_columns ? zero : at);
    const FlowLine right = line_along(emit, matrices.right, 0, by_columns ? at : zero);
    llvm::Value* const sum =
        dot_lines(emit, matrices.depth(), by_columns ? right : left, by_columns ? left : right);
    llvm::Value* const place = row.result.rank() == 0
                                   ? first
                                   : build.CreateGEP(emit.element_type(row.result.dtype), first,
                                                     build.CreateMul(at, row.result.strides[0]));
    store_at(row, place, sum);
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
  llvm::IRBuilder<>& build = emit.build();
  VectorSteps steps(emit.bodies(), build, emit.vectors());
  const DType dtype = row.result.dtype;
  const Compute compute = combining_compute(dtype);
  llvm::Value* const start = first_sum(emit, compute, matrices.depth());
  emit.loop(matrices.rows(), [&](llvm::Value* i) {
    const FlowLine left = line_along(emit, matrices.left, 1, i);
    const FlowLine to = line_along(emit, row.result, 1, i);
    const auto column = [&](llvm::Value* index, llvm::Value* rest) {
      const auto turn = [&](llvm::Value* p, const Round& sums) {
        const FlowLine right = line_along(emit, matrices.right, 1, p);
        llvm::Value* const factors = steps.in({load_elements(emit, right, index, rest), dtype}, compute);
        llvm::Value* const place =
            build.CreateGEP(emit.element_type(dtype), left.first, build.CreateMul(p, left.stride));
        llvm::Value* const element =
            build.CreateAlignedLoad(emit.element_type(dtype), place, llvm::Align(bytes_of(dtype)));
        llvm::Value* const factor = steps.in({build.CreateVectorSplat(kVector, element), dtype}, compute);
        return Round{sum(build, sums[0], product(build, factors, factor))};
      };
      const Round sums = carried_loop(emit, emit.int_value(0), matrices.depth(), 1, {start}, turn);
      store_elements(emit, to, index, rest, steps.stored(sums[0], compute, dtype));
    };
    each_vector(emit, matrices.columns(), column);
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
  if (has_vector(row))
    return build.CreateAnd(at_most(matrices.depth(), kDotBlock), at_most(work, kMostRowElements));
  const auto is_matrix = [&](llvm::Value* size) { return build.CreateICmpSGT(size, emit.int_value(1)); };
  return build.CreateAnd(at_most(work, kLeastFused),
                         build.CreateAnd(is_matrix(matrices.rows()), is_matrix(matrices.columns())));
}

void emit_product(const FlowRow& row) {
  const Matrices matrices = matrices_of(row);
  has_vector(row) ? emit_vector_product(row, matrices) : emit_product_in_turn(row, matrices);
}

}  // namespace kiln::jit
