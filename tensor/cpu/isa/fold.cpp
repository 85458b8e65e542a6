// Owns the kernels of folds, compiled once per instruction set: rows and columns.
#include <algorithm>

#include "tensor/cpu/folds/fold_job.h"
#include "tensor/cpu/isa/columns.h"
#include "tensor/cpu/isa/dense_rows.h"
#include "tensor/cpu/isa/fold_loads.h"
#include "tensor/cpu/isa/lanes.h"
#include "tensor/integers.h"

namespace kiln::cpu::KILN_ISA {
namespace {

// ---- Walking ---------------------------------------------------------------------------------------------

// The place of an element among the dimensions, kept up by carrying.
class Cursor {
 public:
  Cursor(const FoldDims& dims, std::int64_t linear) : dims_(dims) {
    for (int d = dims.rank - 1; d >= 0; --d) {
      index_[d] = linear % dims.sizes[d];
      linear /= dims.sizes[d];
      offset_ += index_[d] * dims.strides[d];
    }
  }
  std::int64_t offset() const { return offset_; }
  // Elements left in the innermost run, and a step of at most that many.
  std::int64_t run() const {
    return dims_.rank == 0 ? 1 : dims_.sizes[dims_.rank - 1] - index_[dims_.rank - 1];
  }
  void advance(std::int64_t count) {
    if (dims_.rank == 0) return;
    int d = dims_.rank - 1;
    index_[d] += count;
    offset_ += count * dims_.strides[d];
    for (; d > 0 && index_[d] == dims_.sizes[d]; --d) {
      offset_ += dims_.strides[d - 1] - index_[d] * dims_.strides[d];
      index_[d] = 0;
      ++index_[d - 1];
    }
  }
  // Likewise, of two or more dimensions, whole runs that are a stride apart: none when this is within one.
  std::int64_t whole_runs() const {
    return index_[dims_.rank - 1] != 0 ? 0 : dims_.sizes[dims_.rank - 2] - index_[dims_.rank - 2];
  }
  void advance_runs(std::int64_t count) {
    index_[dims_.rank - 2] += count - 1;
    offset_ += (count - 1) * dims_.strides[dims_.rank - 2];
    advance(dims_.sizes[dims_.rank - 1]);
  }

 private:
  const FoldDims& dims_;
  std::int64_t index_[kFoldMaxRank];
  std::int64_t offset_ = 0;
};

std::int64_t innermost_stride(const FoldDims& dims) {
  return dims.rank == 0 ? 0 : dims.strides[dims.rank - 1];
}

// ---- Rows: the sequence of an output is walked along memory ----------------------------------------------

inline constexpr std::int64_t kChunk = 8 * kReductionLanes;
inline constexpr std::int64_t kShortRun = 4 * kReductionLanes;

// Elements that a kernel reads as they are, run by run: `from` is the first of the sequence.
template <class C, class T, class P>
void add_in_place(const FoldJob& job, P from, std::int64_t first, std::int64_t count, Lanes<C, T>& lanes) {
  if (job.reduced.rank <= 1) return lanes.add(from + first * innermost_stride(job.reduced), count);
  Cursor cursor(job.reduced, first);
  for (std::int64_t lane = 0; count > 0;) {
    if constexpr (kMasksAreFree && !kAnyOrder<T>) {
      const std::int64_t whole = job.reduced.sizes[job.reduced.rank - 1];
      const std::int64_t runs = whole <= kShortRun ? std::min(cursor.whole_runs(), count / whole) : 0;
      if (runs > 1) {
        lane = lanes.add_short_runs(from + cursor.offset(), runs, job.reduced.strides[job.reduced.rank - 2],
                                    whole, lane);
        cursor.advance_runs(runs);
        count -= runs * whole;
        continue;
      }
    }
    const std::int64_t run = std::min(cursor.run(), count);
    lane = lanes.add_run(from + cursor.offset(), run, lane);
    cursor.advance(run);
    count -= run;
  }
}

// The lanes of elements [first, first + count) of the sequence at `base`, one block.
template <class C, class T, class P>
void add_block(const FoldJob& job, const std::byte* base, const std::byte* center, std::int64_t first,
               std::int64_t count, Lanes<C, T>& lanes) {
  const std::int64_t stride = innermost_stride(job.reduced);
  if (job.direct && (stride == 1 || count == 1))
    return add_in_place<C, T>(job, reinterpret_cast<P>(base), first, count, lanes);
  Cursor cursor(job.reduced, first);
  // Wide elements take as long to be read as to be combined, in which time nothing is read.
  const bool asks = stride == 1 && job.element_size == 8;
  alignas(64) T chunk[kChunk];
  while (count > 0) {
    const std::int64_t size = std::min(count, kChunk);
    for (std::int64_t filled = 0; filled < size;) {
      const std::int64_t run = std::min(cursor.run(), size - filled);
      if (asks)
        cpu::prefetch_run(base + (cursor.offset() + 2 * kChunk) * job.element_size, run * job.element_size);
      job.load(base + cursor.offset() * job.element_size, stride, run, center, 0,
               reinterpret_cast<std::byte*>(chunk + filled));
      cursor.advance(run);
      filled += run;
    }
    lanes.add(chunk, size);
    count -= size;
  }
}

// Rows of one block each whose elements lie together, many of them one `step` apart from the next.
bool is_stepped(const FoldJob& job) {
  constexpr std::int64_t kMany = 8;
  return job.blocks == 1 && job.direct && job.outputs.rank >= 1 &&
         job.outputs.sizes[job.outputs.rank - 1] >= kMany && job.reduced.rank <= 1 &&
         (job.count == 1 || innermost_stride(job.reduced) == 1);
}
template <class C, class T, class P, class Out>
void fold_stepped(const FoldJob& job, std::int64_t begin, std::int64_t end, Out* to) {
  Cursor cursor(job.outputs, begin);
  for (std::int64_t output = begin; output < end;) {
    const std::int64_t rows = std::min(cursor.run(), end - output);
    fold_dense<C, T>(reinterpret_cast<P>(job.input) + cursor.offset(), job.count,
                     innermost_stride(job.outputs), rows, to + output);
    cursor.advance(rows);
    output += rows;
  }
}

template <class C, class T, class P, class Out>
void fold_rows(const FoldJob& job, std::int64_t begin, std::int64_t end) {
  Out* to = reinterpret_cast<Out*>(job.results);
  if (is_stepped(job)) return fold_stepped<C, T, P>(job, begin, end, to);
  std::int64_t output = begin / job.blocks;
  std::int64_t block = begin % job.blocks;
  Cursor cursor(job.outputs, output);
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t first = block * kReductionBlock;
    const std::byte* center =
        job.centers ? job.centers + output * static_cast<std::int64_t>(sizeof(T)) : nullptr;
    Lanes<C, T> lanes;
    add_block<C, T, P>(job, job.input + cursor.offset() * job.element_size, center, first,
                       std::min(kReductionBlock, job.count - first), lanes);
    to[unit] = static_cast<Out>(lanes.result());
    if (++block == job.blocks) {
      block = 0;
      ++output;
      cursor.advance(1);
    }
  }
}

// ---- Columns: neighbouring outputs are combined as vectors -----------------------------------------------

// Where one block of the sequences of neighbouring outputs lies.
class TilePlaces {
 public:
  TilePlaces(const FoldJob& job, const std::byte* input, std::int64_t first, std::int64_t count)
      : job_(job), input_(input), first_(first) {
    if (job.reduced.rank <= 1) return;
    Cursor cursor(job.reduced, first);
    for (std::int64_t r = 0; r < count; ++r, cursor.advance(1)) offsets_[r] = cursor.offset();
  }
  std::int64_t offset(std::int64_t r) const {
    return job_.reduced.rank > 1 ? offsets_[r] : (first_ + r) * innermost_stride(job_.reduced);
  }
  const std::byte* row(std::int64_t r) const { return input_ + offset(r) * job_.element_size; }

 private:
  const FoldJob& job_;
  const std::byte* input_;  // the first output's first element
  std::int64_t first_;
  std::int64_t offsets_[kReductionBlock];  // when no one stride tells
};

template <class P>
struct TileInPlace {
  static constexpr bool kInPlace = true;
  const TilePlaces& places;
  P row(std::int64_t r, void*) const { return reinterpret_cast<P>(places.row(r)); }
  std::int64_t ahead(std::int64_t r, std::int64_t s) const { return places.offset(s) - places.offset(r); }
};

template <class T>
struct LoadedTile {
  static constexpr bool kInPlace = false;
  const TilePlaces& places;
  const FoldJob& job;
  std::int64_t width, count;  // outputs, elements of each
  const std::byte* centers;   // the first output's center
  const T* row(std::int64_t r, T* buffer) const {
    prefetch_after(r);
    job.load(places.row(r), 1, width, centers, centers != nullptr, reinterpret_cast<std::byte*>(buffer));
    return buffer;
  }
  std::int64_t ahead(std::int64_t, std::int64_t) const { return 0; }

 private:
  // What will be wanted when the rows that are combined together are done; the lanes jump through memory.
  void prefetch_after(std::int64_t r) const {
    constexpr std::int64_t kRows = 4 * kReductionLanes;
    if (r + kRows < count) cpu::prefetch_run(places.row(r + kRows), width * job.element_size);
  }
};

// Rows this narrow and without gaps are taken a whole group of lanes at a time, where there are more of them
// than leaves in registers are good for.
inline constexpr std::int64_t kFlatWidth = 128;

template <class C, class T>
bool is_flat(const FoldDims& reduced, std::int64_t count, std::int64_t width) {
  return reduced.rank == 1 && reduced.strides[0] == width && width <= kFlatWidth &&
         (2 * count > width || width < Lanes<C, T>::kWidth);
}

template <class C, class T, class P>
void fold_flat(P from, std::int64_t count, std::int64_t width, T* acc) {
  const std::int64_t used = std::min<std::int64_t>(kReductionLanes, count);
  const std::int64_t group = kReductionLanes * width;
  std::int64_t r = 4 * kReductionLanes;
  if (count >= r) {
    combine<C, 4, true>(acc, {from, from + group, from + 2 * group, from + 3 * group}, group);
  } else if (count >= 2 * kReductionLanes) {
    combine<C, 2, true>(acc, {from, from + group}, group);
    r = 2 * kReductionLanes;
  } else {
    combine<C, 1, true>(acc, {from}, used * width);
    r = kReductionLanes;
  }
  from += r * width;
  for (; r + 4 * kReductionLanes <= count; r += 4 * kReductionLanes, from += 4 * group)
    combine<C, 4>(acc, {from, from + group, from + 2 * group, from + 3 * group}, group);
  for (; r < count; r += kReductionLanes, from += group)
    combine<C>(acc, from, std::min<std::int64_t>(kReductionLanes, count - r) * width);
  for (std::int64_t half = kReductionLanes / 2, left = used; half >= 1;
       left = std::min(left, half), half /= 2) {
    if (left > half) combine<C>(acc, static_cast<const T*>(acc + half * width), (left - half) * width);
  }
}

template <class C, class T, class P, class Out>
void fold_columns(const FoldJob& job, std::int64_t begin, std::int64_t end) {
  FoldDims outer = job.outputs;
  const int last = --outer.rank;
  const std::int64_t size = outer.sizes[last];
  const std::int64_t tiles = ceil_divide(size, job.tile);
  Out* results = reinterpret_cast<Out*>(job.results);
  using InPlace = ColumnBlock<C, T, TileInPlace<P>>;
  using Loaded = ColumnBlock<C, T, LoadedTile<T>>;
  alignas(64) T memory[std::max(InPlace::memory_of(kMaxColumnTile), kReductionLanes * kFlatWidth)];
  alignas(64) T buffers[Loaded::kBuffers * kMaxColumnTile];
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t column = unit % tiles * job.tile;
    const std::int64_t block = unit / tiles % job.blocks;
    const std::int64_t row = unit / tiles / job.blocks;
    const std::int64_t output = row * size + column;
    const std::int64_t width = std::min(job.tile, size - column);
    const std::byte* input = job.input + (Cursor(outer, row).offset() + column) * job.element_size;
    const std::int64_t first = block * kReductionBlock;
    const std::int64_t count = std::min(kReductionBlock, job.count - first);
    if (job.direct && is_flat<C, T>(job.reduced, count, width)) {
      fold_flat<C>(reinterpret_cast<P>(input) + first * width, count, width, memory);
    } else {
      const TilePlaces places(job, input, first, count);
      if (job.direct) {
        const TileInPlace<P> tile{places};
        InPlace(tile, count, width, memory, buffers).fold();
      } else {
        const std::byte* centers =
            job.centers ? job.centers + output * static_cast<std::int64_t>(sizeof(T)) : nullptr;
        const LoadedTile<T> tile{places, job, width, count, centers};
        Loaded(tile, count, width, memory, buffers).fold();
      }
    }
    if (job.blocks == 1) {
      std::transform(memory, memory + width, results + output, [](T each) { return static_cast<Out>(each); });
    } else {
      for (std::int64_t w = 0; w < width; ++w)
        results[(output + w) * job.blocks + block] = static_cast<Out>(memory[w]);
    }
  }
}

template <class C, class T>
void fold_blocks(const FoldJob& job, std::byte* to, std::int64_t begin, std::int64_t end) {
  const T* results = reinterpret_cast<const T*>(job.results);
  T* out = reinterpret_cast<T*>(to);
  for (std::int64_t output = begin; output < end; ++output) {
    BlockTree<C, T> tree;
    for (std::int64_t b = 0; b < job.blocks; ++b) tree.add(results[output * job.blocks + b]);
    out[output] = tree.result();
  }
}

// ---- The table -------------------------------------------------------------------------------------------

// What pointers P lead to is combined as T and gives results of type Out.
template <class C, class T, class P = const T*, class Out = T>
constexpr FoldKernel kernel() {
  return {&fold_rows<C, T, P, Out>, &fold_columns<C, T, P, Out>, &fold_blocks<C, Out>};
}

template <class C>
void add_float_kernels(FoldKernel (&kernels)[kDTypeCount]) {
  kernels[static_cast<int>(DType::F16)] = kernel<C, float, const Half*>();
  kernels[static_cast<int>(DType::BF16)] = kernel<C, float, const BFloat16*>();
  kernels[static_cast<int>(DType::F32)] = kernel<C, float>();
  kernels[static_cast<int>(DType::F64)] = kernel<C, double>();
}
// Sums and products of integers wrap: unsigned arithmetic.
template <class C>
void add_total_kernels(FoldKernel (&kernels)[kDTypeCount]) {
  add_float_kernels<C>(kernels);
  kernels[static_cast<int>(DType::I64)] = kernel<C, std::uint64_t>();
}
template <class C>
void add_extremum_kernels(FoldKernel (&kernels)[kDTypeCount]) {
  add_float_kernels<C>(kernels);
  kernels[static_cast<int>(DType::Bool)] = kernel<C, std::uint8_t>();
  kernels[static_cast<int>(DType::U8)] = kernel<C, std::uint8_t>();
  kernels[static_cast<int>(DType::I8)] = kernel<C, std::int8_t>();
  kernels[static_cast<int>(DType::I16)] = kernel<C, std::int16_t>();
  kernels[static_cast<int>(DType::I32)] = kernel<C, std::int32_t>();
  kernels[static_cast<int>(DType::I64)] = kernel<C, std::int64_t>();
}

// Maps that only floats have.
template <class M>
void add_float_loads(FoldLoadFn (&loads)[kDTypeCount]) {
  loads[static_cast<int>(DType::F16)] = &load<M, Half>;
  loads[static_cast<int>(DType::BF16)] = &load<M, BFloat16>;
  loads[static_cast<int>(DType::F32)] = &load<M, float>;
  loads[static_cast<int>(DType::F64)] = &load<M, double>;
}
void add_identity_loads(FoldLoadFn (&loads)[kDTypeCount]) {
  add_float_loads<Identity>(loads);
  loads[static_cast<int>(DType::Bool)] = &load<Identity, std::uint8_t>;  // GCC makes no vector code of bools
  loads[static_cast<int>(DType::U8)] = &load<Identity, std::uint8_t>;
  loads[static_cast<int>(DType::I8)] = &load<Identity, std::int8_t>;
  loads[static_cast<int>(DType::I16)] = &load<Identity, std::int16_t>;
  loads[static_cast<int>(DType::I32)] = &load<Identity, std::int32_t>;
  loads[static_cast<int>(DType::I64)] = &load<Identity, std::int64_t>;
}
void add_kept_loads(FoldLoadFn (&loads)[kDTypeCount]) {
  loads[static_cast<int>(DType::Bool)] = &load_kept<std::uint8_t>;
  loads[static_cast<int>(DType::U8)] = &load_kept<std::uint8_t>;
  loads[static_cast<int>(DType::I8)] = &load_kept<std::int8_t>;
  loads[static_cast<int>(DType::I16)] = &load_kept<std::int16_t>;
  loads[static_cast<int>(DType::I32)] = &load_kept<std::int32_t>;
  loads[static_cast<int>(DType::I64)] = &load_kept<std::int64_t>;
}
template <class Out>
void add_nonzero_loads(FoldLoadFn (&loads)[kDTypeCount]) {
  const FoldLoadFn all[kDTypeCount] = {&load_nonzero<Out, std::uint8_t>, &load_nonzero<Out, std::uint8_t>,
                                       &load_nonzero<Out, std::int8_t>,  &load_nonzero<Out, std::int16_t>,
                                       &load_nonzero<Out, std::int32_t>, &load_nonzero<Out, std::int64_t>,
                                       &load_nonzero<Out, Half>,         &load_nonzero<Out, BFloat16>,
                                       &load_nonzero<Out, float>,        &load_nonzero<Out, double>};
  std::copy(all, all + kDTypeCount, loads);
}

FoldKernels build() {
  FoldKernels kernels{};
  const auto of = [&](Combine combine) -> auto& { return kernels.fold[static_cast<int>(combine)]; };
  add_total_kernels<SumOf>(of(Combine::Sum));
  add_total_kernels<ProdOf>(of(Combine::Prod));
  add_extremum_kernels<MaxOf>(of(Combine::Max));
  add_extremum_kernels<MinOf>(of(Combine::Min));
  const auto loads = [&](Map map) -> auto& { return kernels.load[static_cast<int>(map)]; };
  add_identity_loads(loads(Map::Identity));
  add_kept_loads(kernels.kept);
  add_nonzero_loads<std::uint64_t>(loads(Map::NonZero));
  add_nonzero_loads<std::uint8_t>(loads(Map::Truth));
  add_float_loads<Square>(loads(Map::Square));
  add_float_loads<Abs>(loads(Map::Abs));
  add_float_loads<Distance>(loads(Map::Distance));
  add_float_loads<CenteredSquare>(loads(Map::CenteredSquare));
  add_float_loads<CenteredExp>(loads(Map::CenteredExp));
  return kernels;
}

}  // namespace

const FoldKernels& fold_kernels() {
  static const FoldKernels kernels = build();
  return kernels;
}

}  // namespace kiln::cpu::KILN_ISA
