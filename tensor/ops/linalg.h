// Owns what the rows of the linear algebra family share: checks of operands, arithmetic of batches of
// matrices, and the C++ names of the factorizations.
#pragma once

#include <string>
#include <string_view>

#include "tensor/functions.h"
#include "tensor/ops/rules.h"

namespace kiln {

// The rows of each file.
void add_einsum_op(OpTable& table);
void add_solve_ops(OpTable& table);
void add_lu_ops(OpTable& table);
void add_eig_ops(OpTable& table);
void add_determinant_ops(OpTable& table);
void add_decompose_ops(OpTable& table);
void add_matrix_norm_ops(OpTable& table);
void add_matrix_function_ops(OpTable& table);

namespace linalg {

inline constexpr std::string_view kFamily = "linear algebra";

// Throw OpError (Shape, DType) that names the op and operand: at least two dimensions; f32, f64, c64 or c128;
// the last two dimensions equal. Rows that take no complex numbers refuse them before.
void need_matrices(const TensorType& x, const Attrs& attrs, int operand = 0);
void need_field(const TensorType& x, const Attrs& attrs, int operand = 0);
void need_square(const TensorType& x, const Attrs& attrs, int operand = 0);
// Throws OpError (DType) unless both have one dtype.
void need_one_dtype(std::span<const TensorType> inputs, const Attrs& attrs);
// Shape rule of an op from square matrices to such.
std::vector<TensorType> infer_square(std::span<const TensorType> inputs, const Attrs& attrs);

// Is the right-hand side `b` of systems with matrices `a` vectors: one, or one for each? PyTorch's rule.
bool is_vector_side(const Dims& a, const Dims& b);
// The singular values (or absolute eigenvalues) of `x` up to this count as 0: by `atol` and `rtol`, which is
// the precision times the larger dimension when neither is given.
Tensor rank_tolerance(const Tensor& values, const Tensor& x, const Attrs& attrs);
// A row whose body is made of other rows, which it inherits its rules from.
Op composite_row(std::string_view signature, std::string_view documentation, std::string_view example,
                 InferFn infer, BodyFn body, std::uint32_t effects = kNoEffects);

// Sizes before the last two.
Dims batch_sizes(std::span<const Dim> sizes);
Dim rows_of(const Tensor& x);
Dim columns_of(const Tensor& x);

// The last two dimensions swapped, and of complex matrices conjugate: rules that hold with transposed real
// matrices hold with adjoint complex ones. `turned` swaps alone.
Tensor t(const Tensor& x);
Tensor turned(const Tensor& x);
Tensor mm(const Tensor& a, const Tensor& b, const Tensor& c);  // a b c
Tensor column(const Tensor& x);                                // x[..., none]
Tensor row(const Tensor& x);                                   // x[..., none, :]
Tensor column_sums(const Tensor& x);                           // of each column, x[..., 1, :]
Tensor diagonal(const Tensor& x);                              // of the last two dimensions
Tensor diagonal_matrix(const Tensor& x);                       // the matrix with that diagonal
Tensor symmetric(const Tensor& x);                             // (x + x.t()) / 2
Tensor antisymmetric_twice(const Tensor& x);                   // x - x.t()
Tensor lower_half(const Tensor& x);                            // the lower triangle with half the diagonal
Tensor eye(Dim n, const TensorType& like);
TensorType real_type(const TensorType& x);  // with real numbers in the place of complex ones
Tensor real_part(const Tensor& x);          // of real numbers they themselves
Tensor times_i(const Tensor& x);            // of real numbers
// a / b, but 0 where both are 0: nothing flows along a direction that nothing depends on. Linear in a where b
// is not 0.
Tensor divide_or_zero(const Tensor& a, const Tensor& b);

// Columns of complex matrices whose largest element is real and positive, as factorizations give them. By
// what a change turns their phases, which is taken off; and what a gradient by these turns, real and one for
// each column, is of the elements of the columns.
Tensor phase_of_change(const Tensor& change, const Tensor& columns);
Tensor gradient_of_phase(const Tensor& turn, const Tensor& columns);
// 1 at the largest element of each column, which is real, over that element; else 0.
Tensor pivots_of(const Tensor& re, const Tensor& im);

// The inputs of a batching rule for two operands whose dimensions before the last two broadcast.
Tensors broadcast_batched(const BatchArgs& args);

}  // namespace linalg

namespace ops {

Tensor inv(const Tensor& a);
Tensor solve(const Tensor& a, const Tensor& b, bool left = true);
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left = true, bool unit = false);
Tensor cholesky(const Tensor& a, bool upper = false);
Tensor det(const Tensor& a);
Tensor cofactor(const Tensor& a);
Tensors qr(const Tensor& a);        // reduced
Tensors thin_svd(const Tensor& a);  // u, s, vh
Tensor svdvals(const Tensor& a);
Tensors eigh(const Tensor& a);  // values, vectors

}  // namespace ops
}  // namespace kiln
