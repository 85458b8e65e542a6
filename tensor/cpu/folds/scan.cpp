// Kernels of running sums and products in their fixed order (docs/reductions.md): sums in runs and blocks,
// products one after the other. Floats below f64 are carried in f64.
#include <algorithm>
#include <utility>
#include <vector>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/sequence_shape.h"
#include "tensor/fixed_order.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

struct Add {
  static constexpr bool kByRuns = true;
  template <class T>
  static constexpr T kStart = T(0);
  template <class T>
  static T apply(T a, T b) {
    return a + b;
  }
};
// Products of runs may be out of range where those of all elements are not: 0 times what is too large.
struct Multiply {
  static constexpr bool kByRuns = false;
  template <class T>
  static constexpr T kStart = T(1);
  template <class T>
  static T apply(T a, T b) {
    return a * b;
  }
};

// ---- Elements: what is read, as it is carried, and what is written ----

template <class T, class Of>
struct Direct {
  using Carry = Of;
  const T* from;
  T* to;

  void load(std::int64_t at, std::int64_t count, Carry* carried) const {
    for (std::int64_t i = 0; i < count; ++i) carried[i] = static_cast<Carry>(from[at + i]);
  }
  void put(std::int64_t at, std::int64_t count, const Carry* carried) const {
    for (std::int64_t i = 0; i < count; ++i) to[at + i] = static_cast<T>(carried[i]);
  }
  // Each element after what is before its run: `before` is one for all, or as many as there are elements.
  template <class C, class Before>
  void store(std::int64_t at, std::int64_t count, const Before& before, const Carry* carried) const {
    for (std::int64_t i = 0; i < count; ++i) to[at + i] = static_cast<T>(C::apply(before(i), carried[i]));
  }
};

// Halves, which become f32 a chunk at a time.
struct Halves {
  using Carry = double;
  const std::byte* from;
  std::byte* to;
  LoadFn load_part;
  StoreFn store_part;
  static constexpr std::int64_t kChunk = 256;

  void load(std::int64_t at, std::int64_t count, Carry* carried) const {
    float chunk[kChunk];
    for (std::int64_t i = 0; i < count; i += kChunk) {
      const std::int64_t size = std::min(kChunk, count - i);
      load_part(from + 2 * (at + i), 1, chunk, size);
      for (std::int64_t k = 0; k < size; ++k) carried[i + k] = static_cast<Carry>(chunk[k]);
    }
  }
  void put(std::int64_t at, std::int64_t count, const Carry* carried) const {
    each_chunk(at, count, [=](std::int64_t i) { return carried[i]; });
  }
  template <class C, class Before>
  void store(std::int64_t at, std::int64_t count, const Before& before, const Carry* carried) const {
    each_chunk(at, count, [&](std::int64_t i) { return C::apply(before(i), carried[i]); });
  }

 private:
  template <class F>
  void each_chunk(std::int64_t at, std::int64_t count, const F& value) const {
    float chunk[kChunk];
    for (std::int64_t i = 0; i < count; i += kChunk) {
      const std::int64_t size = std::min(kChunk, count - i);
      for (std::int64_t k = 0; k < size; ++k) chunk[k] = static_cast<float>(value(i + k));
      store_part(chunk, to + 2 * (at + i), 1, size);
    }
  }
};

// ---- Rows: sequences along memory ----

inline constexpr std::int64_t kTogether = 8;  // sequences: each step of one waits for the one before

template <class C, std::int64_t kCount, class Carry>
void run_together(Carry* const (&sequences)[kCount], std::int64_t count, Carry* carry) {
  Carry own[kCount];
  std::copy_n(carry, kCount, own);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t r = 0; r < kCount; ++r) sequences[r][i] = own[r] = C::apply(own[r], sequences[r][i]);
  }
  std::copy_n(own, kCount, carry);
}

// All elements of a few rows in turn, a piece of each at a time.
template <class C, std::int64_t kRows, class Elements>
void run_in_turn(const Elements& elements, std::int64_t row, std::int64_t count) {
  using Carry = typename Elements::Carry;
  constexpr std::int64_t kPiece = 512;
  Carry carry[kRows], pieces[kRows][kPiece];
  Carry* sequences[kRows];
  std::fill_n(carry, kRows, C::template kStart<Carry>);
  std::copy_n(pieces, kRows, sequences);
  for (std::int64_t i = 0; i < count; i += kPiece) {
    const std::int64_t size = std::min(kPiece, count - i);
    for (std::int64_t r = 0; r < kRows; ++r) elements.load((row + r) * count + i, size, pieces[r]);
    run_together<C, kRows, Carry>(sequences, size, carry);
    for (std::int64_t r = 0; r < kRows; ++r) elements.put((row + r) * count + i, size, pieces[r]);
  }
}
template <class C, class Elements>
void rows_in_turn(const Elements& elements, std::int64_t rows, std::int64_t count) {
  parallel_for(rows, std::max<std::int64_t>(1, 16384 / count), [&](std::int64_t begin, std::int64_t end) {
    std::int64_t row = begin;
    for (; row + kTogether <= end; row += kTogether) run_in_turn<C, kTogether>(elements, row, count);
    for (; row < end; ++row) run_in_turn<C, 1>(elements, row, count);
  });
}

// Runs of one length, `start(k)` of them each.
template <class C, class Carry, class Start>
void run_all(std::int64_t runs, std::int64_t count, const Start& start) {
  std::int64_t k = 0;
  for (; k + kTogether <= runs; k += kTogether) {
    Carry* together[kTogether];
    for (std::int64_t r = 0; r < kTogether; ++r) together[r] = start(k + r);
    Carry carry[kTogether];
    std::fill_n(carry, kTogether, C::template kStart<Carry>);
    run_together<C, kTogether, Carry>(together, count, carry);
  }
  for (; k < runs; ++k) {
    Carry* const one[] = {start(k)};
    Carry carry = C::template kStart<Carry>;
    run_together<C, 1, Carry>(one, count, &carry);
  }
}

// Several rows of at most a block each, or one block of a row, each by itself.
template <class C, class Carry>
void run_rows(Carry* carried, std::int64_t rows, std::int64_t count) {
  const std::int64_t whole = count / kScanRun, rest = count % kScanRun;
  run_all<C, Carry>(rows * whole, kScanRun, [=](std::int64_t k) {
    return whole == 1 ? carried + k * count : carried + k / whole * count + k % whole * kScanRun;
  });
  if (rest > 0)
    run_all<C, Carry>(rows, rest, [=](std::int64_t k) { return carried + k * count + whole * kScanRun; });
}

// What the block makes of what is before it. Its runs are there.
template <class C, class Carry>
Carry total_of(const Carry* carried, std::int64_t count) {
  Carry within = C::template kStart<Carry>;
  for (std::int64_t first = 0; first < count; first += kScanRun)
    within = C::apply(within, carried[std::min(first + kScanRun, count) - 1]);
  return within;
}

// Writes a block whose runs are there, after all that is before it, and gives its total.
template <class C, class Elements, class Carry>
Carry write_block(const Elements& elements, std::int64_t at, std::int64_t count, Carry before,
                  const Carry* carried) {
  Carry within = C::template kStart<Carry>;
  for (std::int64_t first = 0; first < count; first += kScanRun) {
    const std::int64_t size = std::min(kScanRun, count - first);
    const Carry offset = C::apply(before, within);
    elements.template store<C>(at + first, size, [=](std::int64_t) { return offset; }, carried + first);
    within = C::apply(within, carried[first + size - 1]);
  }
  return within;
}

template <class C, class Elements>
class Rows {
 public:
  using Carry = typename Elements::Carry;
  Rows(const Elements& elements, std::int64_t rows, std::int64_t count)
      : elements_(elements), rows_(rows), count_(count), blocks_(reduction_blocks(count)) {}

  void run() const {
    const bool few = blocks_ > 1 && rows_ < 2 * num_threads();
    few ? run_blocks() : run_whole();
  }

 private:
  static constexpr std::int64_t kGrain = 16384;

  // A thread has whole rows, of short ones several at a time.
  void run_whole() const {
    const std::int64_t together = std::max<std::int64_t>(1, kReductionBlock / count_);
    parallel_for(ceil_divide(rows_, together), std::max<std::int64_t>(1, kGrain / (together * count_)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t unit = begin; unit < end; ++unit)
                     run_some(unit * together, std::min(together, rows_ - unit * together));
                 });
  }
  void run_some(std::int64_t row, std::int64_t rows) const {
    Carry carried[kReductionBlock];
    if (blocks_ == 1) {
      load(row * count_, rows * count_, carried);
      run_rows<C>(carried, rows, count_);
      for (std::int64_t r = 0; r < rows; ++r)
        write_block<C>(elements_, (row + r) * count_, count_, C::template kStart<Carry>,
                       carried + r * count_);
      return;
    }
    Carry before = C::template kStart<Carry>;
    for (std::int64_t block = 0; block < blocks_; ++block) {
      const std::int64_t at = row * count_ + block * kReductionBlock, size = size_of_block(block);
      load(at, size, carried);
      run_rows<C>(carried, 1, size);
      before = C::apply(before, write_block<C>(elements_, at, size, before, carried));
    }
  }

  // Threads share a row: what its blocks come to is found first.
  void run_blocks() const {
    std::vector<Carry> before(static_cast<std::size_t>(rows_ * blocks_));
    each_block([&](std::int64_t unit, std::int64_t, std::int64_t size, const Carry* carried) {
      before[static_cast<std::size_t>(unit)] = total_of<C>(carried, size);
    });
    for (std::int64_t row = 0; row < rows_; ++row) {
      Carry all = C::template kStart<Carry>;
      for (std::int64_t block = 0; block < blocks_; ++block) {
        const Carry own = std::exchange(before[static_cast<std::size_t>(row * blocks_ + block)], all);
        all = C::apply(all, own);
      }
    }
    each_block([&](std::int64_t unit, std::int64_t at, std::int64_t size, const Carry* carried) {
      write_block<C>(elements_, at, size, before[static_cast<std::size_t>(unit)], carried);
    });
  }
  template <class F>
  void each_block(const F& f) const {
    parallel_for(rows_ * blocks_, kGrain / kReductionBlock, [&](std::int64_t begin, std::int64_t end) {
      Carry carried[kReductionBlock];
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t block = unit % blocks_, size = size_of_block(block);
        const std::int64_t at = unit / blocks_ * count_ + block * kReductionBlock;
        load(at, size, carried);
        run_rows<C>(carried, 1, size);
        f(unit, at, size, carried);
      }
    });
  }

  void load(std::int64_t at, std::int64_t count, Carry* carried) const { elements_.load(at, count, carried); }
  std::int64_t size_of_block(std::int64_t block) const {
    return std::min(kReductionBlock, count_ - block * kReductionBlock);
  }

  const Elements& elements_;
  std::int64_t rows_, count_, blocks_;
};

// ---- Columns: strips of sequences that lie side by side ----

inline constexpr std::int64_t kStrip = 256;

template <class C, class Carry>
struct Strip {
  Carry run[kStrip];     // the run so far
  Carry within[kStrip];  // the runs of the block before it
  Carry before[kStrip];  // the blocks before that one
  Carry offset[kStrip];  // both

  static void start(Carry* all, std::int64_t width) { std::fill_n(all, width, C::template kStart<Carry>); }
  static void add(Carry* to, Carry* from, std::int64_t width) {
    for (std::int64_t w = 0; w < width; ++w) to[w] = C::apply(to[w], from[w]);
    start(from, width);
  }
  // Before element i.
  void begin(std::int64_t i, std::int64_t width) {
    if (i == 0) {
      start(run, width);
      start(within, width);
      start(before, width);
    }
    add(within, run, width);
    if (i % kReductionBlock == 0) add(before, within, width);
    for (std::int64_t w = 0; w < width; ++w) offset[w] = C::apply(before[w], within[w]);
  }
};

template <class C, class Elements>
void scan_columns(const Elements& elements, const SequenceShape& shape, std::int64_t begin,
                  std::int64_t end) {
  using Carry = typename Elements::Carry;
  const std::int64_t strips = ceil_divide(shape.inner, kStrip);
  Strip<C, Carry> strip;
  Carry carried[kStrip];
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t first = unit % strips * kStrip;
    const std::int64_t width = std::min(kStrip, shape.inner - first);
    std::int64_t at = unit / strips * shape.count * shape.inner + first;
    for (std::int64_t i = 0; i < shape.count; ++i, at += shape.inner) {
      if (C::kByRuns ? i % kScanRun == 0 : i == 0) strip.begin(i, width);
      elements.load(at, width, carried);
      for (std::int64_t w = 0; w < width; ++w) strip.run[w] = C::apply(strip.run[w], carried[w]);
      elements.template store<C>(at, width, [&](std::int64_t w) { return strip.offset[w]; }, strip.run);
    }
  }
}

template <class C, class Elements>
void scan_all(const Elements& elements, const SequenceShape& shape) {
  if (shape.inner == 1) {
    if constexpr (C::kByRuns)
      return Rows<C, Elements>(elements, shape.outer, shape.count).run();
    else
      return rows_in_turn<C>(elements, shape.outer, shape.count);
  }
  const std::int64_t units = shape.outer * ceil_divide(shape.inner, kStrip);
  const std::int64_t work = shape.count * std::min(shape.inner, kStrip);
  parallel_for(units, std::max<std::int64_t>(1, 16384 / work),
               [&](std::int64_t begin, std::int64_t end) { scan_columns<C>(elements, shape, begin, end); });
}

// Of i64 or of floats.
template <class C>
void scan_along(const Tensor& result, const Tensor& x, int dim) {
  const Tensor rows = dense(x, x.dtype());
  if (x.numel() == 0) return;
  const SequenceShape shape(x, dim);
  const auto run = [&]<class T, class Carry>() {
    scan_all<C>(Direct<T, Carry>{rows.data<T>(), result.writable<T>()}, shape);
  };
  switch (x.dtype()) {
    case DType::I64:
      run.template operator()<std::int64_t, std::uint64_t>();
      break;
    case DType::F32:
      run.template operator()<float, double>();
      break;
    case DType::F64:
      run.template operator()<double, double>();
      break;
    default: {
      const ConvertTable& table = convert_table();
      const auto half = static_cast<std::size_t>(x.dtype());
      constexpr auto kF32 = static_cast<std::size_t>(Compute::F32);
      scan_all<C>(Halves{rows.raw(), result.raw_writable(), table.load[half][kF32], table.store[kF32][half]},
                  shape);
    }
  }
}

template <class C>
void running(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const DType dtype = outputs[0].dtype();
  const DType carried = is_float(dtype) ? dtype : DType::I64;
  const Tensor x = cast(cast(inputs[0], dtype), carried);
  const Tensor result = computed_in(outputs[0], carried);
  scan_along<C>(result, x, wrap_dim(attrs.get<std::int64_t>("dim"), x.rank(), attrs.op()->name()));
  finish(outputs[0], result);
}

}  // namespace

void add_scan_kernels(Column& column) {
  column.add("cumsum", running<Add>);
  column.add("cumprod", running<Multiply>);
}

}  // namespace kiln::cpu
