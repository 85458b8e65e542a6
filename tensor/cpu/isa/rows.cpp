// Owns the kernels of row programs, compiled once per instruction set. A row stays in cache between its
// passes. Each program is, to the bit, the composition its op's `decompose` states.
#include "tensor/cpu/folds/row_job.h"
#include "tensor/cpu/isa/exp_rows.h"
#include "tensor/cpu/isa/norm_rows.h"
#include "tensor/cpu/isa/row_memory.h"
#include "tensor/cpu/isa/row_stats.h"
#include "tensor/cpu/isa/short_rows.h"
#include "tensor/math.h"

namespace kiln::cpu::KILN_ISA {
namespace {

// y = e^(x - m), and its sum.
template <class A>
A exp_row(const A* x, A m, std::int64_t n, A* y) {
  return fold_chunks<SumOf, A>(n, [&](std::int64_t at, std::int64_t count) {
    exp_shifted(x + at, m, count, y + at);
    return y + at;
  });
}

// Padding with -inf leaves the maximum alone and adds exp(-inf) = 0 to the sum.
template <class E>
void softmax(const RowJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  if (job.size <= kShortRow) {
    return ShortRows<E>(job).run(
        begin, end, [](A total) { return A(1) / total; }, [](A, A power, A scale) { return power * scale; });
  }
  Rows<E> rows(job, MaxOf::identity<A>());
  const std::int64_t n = rows.count();
  for (std::int64_t r = begin; r < end; ++r) {
    const A* x = rows.in(0, r);
    A* y = rows.out(r);
    const A scale = A(1) / exp_row(x, fold_contiguous<MaxOf>(x, n), n, y);
    for (std::int64_t i = 0; i < n; ++i) y[i] *= scale;
    rows.finish(r);
  }
}

template <class E>
void log_softmax(const RowJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  if (job.size <= kShortRow) {
    return ShortRows<E>(job).run(
        begin, end, [](A total) { return math::log(total); },
        [](A shifted, A, A log_total) { return shifted - log_total; });
  }
  Rows<E> rows(job, MaxOf::identity<A>());
  const std::int64_t n = rows.count();
  for (std::int64_t r = begin; r < end; ++r) {
    const A* __restrict x = rows.in(0, r);
    A* __restrict y = rows.out(r);
    const A m = fold_contiguous<MaxOf>(x, n);
    const A log_s = math::log(exp_row(x, m, n, y));
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) - log_s;
    rows.finish(r);
  }
}

template <class E>
void softmax_backward(const RowJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  Rows<E> rows(job);
  const std::int64_t n = rows.count();
  for (std::int64_t r = begin; r < end; ++r) {
    const A* __restrict g = rows.in(0, r);
    const A* __restrict y = rows.in(1, r);
    A* __restrict dx = rows.out(r);
    const A dot = fold_made<SumOf, A>(n, [=](const auto& read) { return read(g) * read(y); });
    for (std::int64_t i = 0; i < n; ++i) dx[i] = (g[i] - dot) * y[i];
    rows.finish(r);
  }
}

template <class E>
void log_softmax_backward(const RowJob& job, std::int64_t begin, std::int64_t end) {
  using A = AccumulatorOf<E>;
  Rows<E> rows(job);
  const std::int64_t n = rows.count();
  for (std::int64_t r = begin; r < end; ++r) {
    const A* __restrict g = rows.in(0, r);
    const A* __restrict y = rows.in(1, r);
    A* __restrict dx = rows.out(r);
    const A total = fold_contiguous<SumOf>(g, n);
    for (std::int64_t i = 0; i < n; ++i) dx[i] = g[i] - math::exp(y[i]) * total;
    rows.finish(r);
  }
}

template <class E>
void fill(RowKernels& kernels, int dtype) {
  const RowKernel programs[kRowProgramCount] = {
      &softmax<E>,    &log_softmax<E>,         &softmax_backward<E>, &log_softmax_backward<E>,
      &norm<E, true>, &norm_backward<E, true>, &norm<E, false>,      &norm_backward<E, false>};
  for (int p = 0; p < kRowProgramCount; ++p) kernels.program[p][dtype] = programs[p];
  kernels.norm_columns[dtype] = &norm_columns<E>;
}

RowKernels build() {
  RowKernels kernels{};
  fill<Half>(kernels, 0);
  fill<BFloat16>(kernels, 1);
  fill<float>(kernels, 2);
  fill<double>(kernels, 3);
  return kernels;
}

}  // namespace

const RowKernels& row_kernels() {
  static const RowKernels kernels = build();
  return kernels;
}

}  // namespace kiln::cpu::KILN_ISA
