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
  // What a run comes to with all that is before it.
  template <class T>
  static T after(T before, T run) {
    return before + run;
  }
};
constexpr std::int64_t kRunsOfBlock = kReductionBlock / kScanRun;
constexpr std::int64_t kStrip = 256;

// Products of runs may be out of range where those of all elements are not: 0 times what is too large.
struct Multiply {
  static constexpr bool kByRuns = false;
  template <class T>
  static constexpr T kStart = T(1);
  template <class T>
  static T apply(T a, T b) {
    return a * b;
  }
  template <class T>
  static T after(T, T run) {
    return run;
  }
};

// ---- Elements: sequences side by side, as each step of one waits for the one before ----------------------

template <class T, class Of>
struct Direct {
  using Carry = Of;
  const T* from;
  T* to;

  // Goes on with a run, which comes to what it then holds.
  template <class C>
  void total(std::int64_t start, std::int64_t count, Carry& run) const {
    Carry own = run;
    for (std::int64_t i = 0; i < count; ++i) own = C::apply(own, static_cast<Carry>(from[start + i]));
    run = own;
  }
  // The same of several, and writes them after all that is before them.
  template <class C, std::size_t kCount>
  void write(const std::int64_t (&starts)[kCount], std::int64_t count, const Carry (&before)[kCount],
             Carry (&run)[kCount]) const {
    const T* in[kCount];
    T* out[kCount];
    Carry own[kCount], offset[kCount];
    for (std::size_t r = 0; r < kCount; ++r) {
      in[r] = from + starts[r];
      out[r] = to + starts[r];
      own[r] = run[r];
      offset[r] = before[r];
    }
    in_pieces(static_cast<std::size_t>(count), kPieceOfValues, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t r = 0; r < kCount; ++r) {
          own[r] = C::apply(own[r], static_cast<Carry>(in[r][i]));
          out[r][i] = static_cast<T>(C::after(offset[r], own[r]));
        }
      }
    });
    for (std::size_t r = 0; r < kCount; ++r) run[r] = own[r];  // a copy of bytes would keep one as an integer
  }
  // The next elements of sequences that lie side by side.
  template <class C>
  void step(std::int64_t at, std::int64_t width, const Carry* before, Carry* run) const {
    const T* const in = from + at;
    T* const out = to + at;
    for (std::int64_t w = 0; w < width; ++w) {
      run[w] = C::apply(run[w], static_cast<Carry>(in[w]));
      out[w] = static_cast<T>(C::after(before[w], run[w]));
    }
  }
};

// Halves, which become f32 a chunk at a time.
class Halves {
 public:
  using Carry = double;
  Halves(const std::byte* from, std::byte* to, LoadFn load, StoreFn store)
      : from_(from), to_(to), load_(load), store_(store) {}

  template <class C>
  void total(std::int64_t start, std::int64_t count, Carry& run) const {
    each_chunk({start}, count, [&](const auto& chunk, const auto&, std::int64_t size) {
      chunk.template total<C>(0, size, run);
    });
  }
  template <class C, std::size_t kCount>
  void write(const std::int64_t (&starts)[kCount], std::int64_t count, const Carry (&before)[kCount],
             Carry (&run)[kCount]) const {
    std::int64_t done = 0;
    each_chunk(starts, count, [&](const auto& chunk, const auto& first, std::int64_t size) {
      chunk.template write<C>(first, size, before, run);
      for (std::size_t r = 0; r < kCount; ++r)
        store_(chunk.to + first[r], to_ + 2 * (starts[r] + done), 1, size);
      done += size;
    });
  }
  template <class C>
  void step(std::int64_t at, std::int64_t width, const Carry* before, Carry* run) const {
    float chunk[kChunk];
    for (std::int64_t w = 0; w < width; w += kChunk) {
      const std::int64_t size = std::min(kChunk, width - w);
      load_(from_ + 2 * (at + w), 1, chunk, size);
      Direct<float, Carry>{chunk, chunk}.template step<C>(0, size, before + w, run + w);
      store_(chunk, to_ + 2 * (at + w), 1, size);
    }
  }

 private:
  static constexpr std::int64_t kChunk = 256;

  // Calls f(floats, where each sequence is in them, how many) for the next elements of all sequences.
  template <std::size_t kCount, class F>
  void each_chunk(const std::int64_t (&starts)[kCount], std::int64_t count, const F& f) const {
    float chunk[static_cast<std::int64_t>(kCount) * kChunk];
    std::int64_t first[kCount];
    for (std::size_t r = 0; r < kCount; ++r) first[r] = static_cast<std::int64_t>(r) * kChunk;
    for (std::int64_t i = 0; i < count; i += kChunk) {
      const std::int64_t size = std::min(kChunk, count - i);
      for (std::size_t r = 0; r < kCount; ++r) load_(from_ + 2 * (starts[r] + i), 1, chunk + first[r], size);
      f(Direct<float, Carry>{chunk, chunk}, first, size);
    }
  }

  const std::byte* from_;
  std::byte* to_;
  LoadFn load_;
  StoreFn store_;
};

// ---- What is before a run --------------------------------------------------------------------------------

// Of one sequence: its blocks, and of the block the runs.
template <class C, class Carry>
struct Before {
  Carry blocks = C::template kStart<Carry>, runs = C::template kStart<Carry>;

  Carry all() const { return C::apply(blocks, runs); }
  // After a run, which is taken; the next one is number `next`.
  void take(Carry& run, std::int64_t next) {
    runs = C::apply(runs, std::exchange(run, C::template kStart<Carry>));
    if (next % kRunsOfBlock == 0) blocks = C::apply(blocks, std::exchange(runs, C::template kStart<Carry>));
  }
};

// ---- ScannedRows: sequences along memory
// ------------------------------------------------------------------------

template <class C, class Elements>
class ScannedRows {
 public:
  using Carry = typename Elements::Carry;
  ScannedRows(const Elements& elements, std::int64_t rows, std::int64_t count)
      : elements_(elements),
        rows_(rows),
        count_(count),
        run_(C::kByRuns ? kScanRun : count),
        blocks_(C::kByRuns ? reduction_blocks(count) : 1) {}

  void run() const {
    if (blocks_ > 1 && 2 * rows_ < num_threads()) return share_rows();
    parallel_for(rows_, std::max<std::int64_t>(1, kGrain / count_),
                 [&](std::int64_t begin, std::int64_t end) {
                   std::int64_t row = begin;
                   for (; row + kMany <= end; row += kMany) write_rows<kMany>(row);
                   for (; row < end; ++row) write_rows<1>(row);
                 });
  }

 private:
  static constexpr std::int64_t kGrain = 16384;
  static constexpr std::int64_t kMany = 4;

  template <std::int64_t kRows>
  void write_rows(std::int64_t row) const {
    Before<C, Carry> before[kRows];
    write<kRows>(row, 0, count_, before);
  }
  // Elements [begin, end) of several rows, from the start of a block on.
  template <std::int64_t kRows>
  void write(std::int64_t row, std::int64_t begin, std::int64_t end,
             Before<C, Carry> (&before)[kRows]) const {
    std::int64_t starts[kRows];
    Carry offsets[kRows], runs[kRows];
    std::fill_n(runs, kRows, C::template kStart<Carry>);
    for (std::int64_t first = begin; first < end; first += run_) {
      for (std::int64_t r = 0; r < kRows; ++r) {
        starts[r] = (row + r) * count_ + first;
        offsets[r] = before[r].all();
      }
      elements_.template write<C>(starts, std::min(run_, end - first), offsets, runs);
      for (std::int64_t r = 0; r < kRows; ++r) before[r].take(runs[r], first / run_ + 1);
    }
  }

  // Threads share a row: what its blocks come to is found first.
  void share_rows() const {
    std::vector<Carry> blocks(static_cast<std::size_t>(rows_ * blocks_));
    const auto at = [&](std::int64_t unit) -> Carry& { return blocks[static_cast<std::size_t>(unit)]; };
    each_block([&](std::int64_t unit, std::int64_t row, std::int64_t begin, std::int64_t end) {
      at(unit) = total_of(row * count_ + begin, end - begin);
    });
    for (std::int64_t row = 0; row < rows_; ++row) {
      Carry before = C::template kStart<Carry>;
      for (std::int64_t unit = row * blocks_; unit < (row + 1) * blocks_; ++unit) {
        const Carry own = std::exchange(at(unit), before);
        before = C::apply(before, own);
      }
    }
    each_block([&](std::int64_t unit, std::int64_t row, std::int64_t begin, std::int64_t end) {
      Before<C, Carry> before[] = {{.blocks = at(unit)}};
      write<1>(row, begin, end, before);
    });
  }
  template <class F>
  void each_block(const F& f) const {
    parallel_for(rows_ * blocks_, kGrain / kReductionBlock, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t first = unit % blocks_ * kReductionBlock;
        f(unit, unit / blocks_, first, std::min(first + kReductionBlock, count_));
      }
    });
  }
  // What a block comes to.
  Carry total_of(std::int64_t start, std::int64_t size) const {
    Carry total = C::template kStart<Carry>;
    for (std::int64_t first = 0; first < size; first += run_) {
      Carry run = C::template kStart<Carry>;
      elements_.template total<C>(start + first, std::min(run_, size - first), run);
      total = C::apply(total, run);
    }
    return total;
  }

  const Elements& elements_;
  std::int64_t rows_, count_, run_, blocks_;
};

// ---- Columns: strips of sequences that lie side by side --------------------------------------------------

template <class C, class Elements>
void scan_columns(const Elements& elements, const SequenceShape& shape, std::int64_t begin,
                  std::int64_t end) {
  using Carry = typename Elements::Carry;
  const std::int64_t strips = ceil_divide(shape.inner, kStrip), length = C::kByRuns ? kScanRun : shape.count;
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t first = unit % strips * kStrip, width = std::min(kStrip, shape.inner - first);
    Before<C, Carry> before[kStrip];
    Carry run[kStrip], offset[kStrip];
    std::fill_n(run, width, C::template kStart<Carry>);
    std::int64_t at = unit / strips * shape.count * shape.inner + first;
    for (std::int64_t i = 0; i < shape.count; ++i, at += shape.inner) {
      check_interrupt();
      if (i % length == 0) {
        for (std::int64_t w = 0; w < width; ++w) {
          if (i > 0) before[w].take(run[w], i / length);
          offset[w] = before[w].all();
        }
      }
      elements.template step<C>(at, width, offset, run);
    }
  }
}

template <class C, class Elements>
void scan_all(const Elements& elements, const SequenceShape& shape) {
  if (shape.inner == 1) return ScannedRows<C, Elements>(elements, shape.outer, shape.count).run();
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
