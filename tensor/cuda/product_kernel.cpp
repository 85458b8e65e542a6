#include "tensor/cuda/product_kernel.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "tensor/cpu/products/panel_product.h"
#include "tensor/cuda/axes.h"
#include "tensor/cuda/copy.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/cuda/kernels/product_job.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/operands.h"
#include "tensor/cuda/program.h"
#include "tensor/integers.h"
#include "tensor/product_operands.h"
#include "tensor/product_order.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kProductKernelText = R"(#include "tensor/cuda/kernels/product.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__(kThreads) multiply(const ProductJob job) {{ {}(job); }}
)";

// What elements are added up in, as the text of kernels says it, and its bytes.
struct Sums {
  const char* type;
  std::int64_t bytes;
};
Sums sums_of(DType dtype) {
  if (dtype == DType::F64) return {"double", 8};
  if (is_float(dtype)) return {"float", 4};
  return dtype == DType::I64 ? Sums{"unsigned long long", 8} : Sums{"unsigned", 4};
}

// A product, and how it goes over the card.
struct Multiplication {
  Context& context;
  const Tensor& result;
  ProductOrder order;
  ProductJob job;

  DType dtype() const { return result.dtype(); }
  Sums sums() const { return sums_of(dtype()); }
  std::int64_t outputs() const { return job.products * job.rows * job.columns; }
  // The kernel's name, what elements become, what else the kernel is given, and how many threads it has.
  void launch(std::string_view kernel, DType to, std::string_view more, std::int64_t threads) const {
    const std::string body =
        fmt::format("{}<{}, {}, {}{}>", kernel, element_name(dtype()), element_name(to), sums().type, more);
    run(context,
        {.function = function_of(context, fmt::format(kProductKernelText, body), "multiply"),
         .threads = threads},
        job);
  }
};

// ---- Launches ----

// The parts of the depth are computed apart, by a launch that is given, and then added in order.
template <class F>
void add_apart(Multiplication& of, const F& launch) {
  const Tensor sums = scratch(of.job.parts * of.outputs() * of.sums().bytes, of.context.device());
  of.job.sums = sums.raw_writable();
  launch();
  of.launch("add_parts", of.dtype(), "", of.outputs());
}

std::int64_t tiles_of(const ProductJob& job, std::int64_t side) {
  return job.products * ceil_divide<std::int64_t>(job.rows, side) *
         ceil_divide<std::int64_t>(job.columns, side);
}
// The largest tiles of which there are enough for the card; of the smallest ones, whatever there are.
std::int64_t side_of_tiles(const Multiplication& of) {
  for (const std::int64_t side : {128, 64}) {
    if (side == 128 && of.sums().bytes > 4) continue;  // the sums of a thread would not fit registers
    if (tiles_of(of.job, side) >= of.context.multiprocessors()) return side;
  }
  return 32;
}

void multiply_matrices(Multiplication& of) {
  constexpr std::int64_t kTileThreads = 16;  // along each side of a tile
  const std::int64_t side = side_of_tiles(of), tiles = tiles_of(of.job, side);
  const std::string more = fmt::format(", {}, {}", of.order == ProductOrder::Fused, side / kTileThreads);
  const auto launch = [&](DType to, std::int64_t units) {
    of.launch("multiply_tiles", to, more, units * kThreadsOfBlock);
  };
  if (of.job.parts == 1) return launch(of.dtype(), tiles);
  if (tiles < of.context.multiprocessors())
    return add_apart(of, [&] { launch(of.dtype(), tiles * of.job.parts); });
  // Parts are added to the result, so that it must hold sums.
  const bool holds_sums = size_of(of.dtype()) == static_cast<std::size_t>(of.sums().bytes);
  if (holds_sums) return launch(of.dtype(), tiles);
  const Tensor wide = Tensor::empty(of.result.sizes(), DType::F32, of.result.device());
  of.job.result = wide.raw_writable();
  launch(DType::F32, tiles);
  copy_elements(of.result, wide);
}

void multiply_vectors(Multiplication& of) {
  constexpr std::int64_t kFewRows = 8;
  ProductJob& job = of.job;
  const auto launch = [&] {
    if (job.left_row == 1 && job.left_step != 1 && job.rows >= kFewRows) {
      const std::int64_t tiles = ceil_divide<std::int64_t>(job.rows, kDotLanes);
      const std::int64_t blocks = job.products * tiles * job.parts;
      return of.launch("multiply_columns", of.dtype(), "", blocks * kThreadsOfBlock);
    }
    const auto terms = static_cast<std::uint64_t>(std::clamp<std::int64_t>(job.depth, 1, kDotLanes));
    job.group = static_cast<std::int64_t>(std::bit_ceil(terms));
    of.launch("multiply_rows", of.dtype(), "", of.outputs() * job.parts * job.group);
  };
  job.parts == 1 ? launch() : add_apart(of, launch);
}

// ---- Operands ----

// How the matrices of both operands follow each other.
WalkAxes batch_axes(const ProductOperands& operands) {
  const IntDims strides[] = {strides_along(operands.left, operands.batch),
                             strides_along(operands.right, operands.batch)};
  return {operands.batch, strides};
}

// Copies all matrices of the batch, one after the other and by row, where an operand has a batch of its own.
Tensor lay_out(MatrixOperand& operand, const Tensor& x, const IntDims& batch) {
  if (operand.batch.empty()) return x;
  Dims sizes(batch.begin(), batch.end());
  sizes.append(x.sizes().end() - 2, x.sizes().end());
  const Tensor copy = laid_out(Tensor::alias(x, broadcast_layout(x.layout(), sizes)));
  operand = left_operand(copy.layout());
  return copy;
}

ProductJob product_job(const ProductOperands& operands, const Tensor& x, const Tensor& y,
                       const Tensor& result) {
  ProductJob job{};
  job.products = count_elements(operands.batch);
  job.rows = operands.rows(), job.columns = operands.columns(), job.depth = operands.depth();
  job.left_row = operands.left.row_stride, job.left_step = operands.left.column_stride;
  job.right_step = operands.right.row_stride, job.right_column = operands.right.column_stride;
  job.batch = batch_axes(operands).argument<2>();
  job.left = x.raw(), job.right = y.raw();
  job.result = result.raw_writable();
  return job;
}

// The matrix as the left operand, where the vector is that.
void turn(ProductJob& job) {
  std::swap(job.rows, job.columns);
  std::swap(job.left, job.right);
  std::swap(job.left_row, job.right_column);
  std::swap(job.left_step, job.right_step);
  for (Count d = 0; d < job.batch.rank; ++d) std::swap(job.batch.strides[0][d], job.batch.strides[1][d]);
}

}  // namespace

void multiply_in_order(const Tensor& result, const Tensor& x, const Tensor& y) {
  if (result.numel() == 0) return;
  ProductOperands operands = product_operands(x.layout(), y.layout());
  const ProductSums sums =
      product_sums({operands.rows(), operands.columns(), operands.depth()}, operands.right.column_stride == 1,
                   is_float(result.dtype()) && cpu::panels::are_there());
  const bool fits = batch_axes(operands).fits();
  const Tensor left = fits ? x : lay_out(operands.left, x, operands.batch);
  const Tensor right = fits ? y : lay_out(operands.right, y, operands.batch);
  Multiplication of{Context::of(result.device()), result, sums.order,
                    product_job(operands, left, right, result)};
  of.job.parts = std::max<std::int64_t>(1, sums.parts);
  if (sums.order != ProductOrder::Lanes) return multiply_matrices(of);
  if (of.job.columns != 1) turn(of.job);
  multiply_vectors(of);
}

}  // namespace kiln::cuda
