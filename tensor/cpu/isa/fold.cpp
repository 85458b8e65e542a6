// Owns the kernels of folds, compiled once per instruction set: rows, columns, and the maps before them.
#include <algorithm>

#include "tensor/cpu/fold_job.h"
#include "tensor/cpu/isa/columns.h"
#include "tensor/cpu/isa/elements.h"
#include "tensor/cpu/isa/lanes.h"
#include "tensor/math.h"

namespace kiln::cpu::KILN_ISA {
namespace {

// ---- Maps ------------------------------------------------------------------------------------------------

struct Identity {
  template <class T>
  static T apply(T x, T) {
    return x;
  }
};
struct Square {
  template <class T>
  static T apply(T x, T) {
    return x * x;
  }
};
struct Abs {
  template <class T>
  static T apply(T x, T) {
    return x < T(0) ? T(0) - x : x;
  }
};
struct NonZero {
  template <class T>
  static T apply(T x, T) {
    return x != T(0) ? T(1) : T(0);
  }
};
struct CenteredSquare {
  template <class T>
  static T apply(T x, T c) {
    return (x - c) * (x - c);
  }
};
struct CenteredExp {
  // A call per element would keep the loops from becoming vector code.
  template <class T>
  [[gnu::always_inline]] static T apply(T x, T c) {
    return math::exp(x - c);
  }
};

// What a map computes in: the accumulator, but counts of floats are integers.
template <class M, class In>
using MapResult = std::conditional_t<std::is_same_v<M, NonZero>, std::uint64_t, AccumulatorOf<In>>;

template <class M, class In>
void load(const std::byte* from, std::int64_t stride, std::int64_t count, const std::byte* centers,
          std::int64_t center_stride, std::byte* to) {
  using Acc = AccumulatorOf<In>;
  const In* in = reinterpret_cast<const In*>(from);
  const Acc* center = reinterpret_cast<const Acc*>(centers);
  auto* out = reinterpret_cast<MapResult<M, In>*>(to);
  if (center_stride != 0) {
    for (std::int64_t i = 0; i < count; ++i)
      out[i] = static_cast<MapResult<M, In>>(M::apply(widen(in[i * stride]), center[i]));
    return;
  }
  const Acc c = center != nullptr ? *center : Acc(0);
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i)
      out[i] = static_cast<MapResult<M, In>>(M::apply(widen(in[i]), c));
  } else {
    for (std::int64_t i = 0; i < count; ++i)
      out[i] = static_cast<MapResult<M, In>>(M::apply(widen(in[i * stride]), c));
  }
}

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

// Elements [first, first + count) of the sequence at `base`, one block.
template <class C, class T>
T fold_block(const FoldJob& job, const std::byte* base, const std::byte* center, std::int64_t first,
             std::int64_t count) {
  Lanes<C, T> lanes;
  const std::int64_t stride = innermost_stride(job.reduced);
  if (job.direct && job.reduced.rank <= 1 && (stride == 1 || count == 1)) {
    lanes.add(reinterpret_cast<const T*>(base) + first * stride, count);
    return lanes.result();
  }
  const FoldDims& reduced = job.reduced;
  const bool in_place = job.direct && stride == 1 && reduced.sizes[reduced.rank - 1] >= 4 * kReductionLanes;
  const std::int64_t wanted = in_place ? kReductionLanes : kChunk;
  alignas(64) T chunk[kChunk];
  Cursor cursor(job.reduced, first);
  while (count > 0) {
    const std::int64_t whole = std::min(cursor.run(), count) / kReductionLanes * kReductionLanes;
    if (in_place && whole > 0) {
      lanes.add(reinterpret_cast<const T*>(base) + cursor.offset(), whole);
      cursor.advance(whole);
      count -= whole;
      continue;
    }
    const std::int64_t size = std::min(count, wanted);
    for (std::int64_t filled = 0; filled < size;) {
      const std::int64_t run = std::min(cursor.run(), size - filled);
      job.load(base + cursor.offset() * job.element_size, stride, run, center, 0,
               reinterpret_cast<std::byte*>(chunk + filled));
      cursor.advance(run);
      filled += run;
    }
    lanes.add(chunk, size);
    count -= size;
  }
  return lanes.result();
}

template <class C, class T>
void fold_rows(const FoldJob& job, std::int64_t begin, std::int64_t end) {
  T* results = reinterpret_cast<T*>(job.results);
  std::int64_t output = begin / job.blocks;
  std::int64_t block = begin % job.blocks;
  Cursor cursor(job.outputs, output);
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t first = block * kReductionBlock;
    const std::byte* center =
        job.centers ? job.centers + output * static_cast<std::int64_t>(sizeof(T)) : nullptr;
    results[unit] = fold_block<C, T>(job, job.input + cursor.offset() * job.element_size, center, first,
                                     std::min(kReductionBlock, job.count - first));
    if (++block == job.blocks) {
      block = 0;
      ++output;
      cursor.advance(1);
    }
  }
}

// ---- Columns: neighbouring outputs are combined as vectors -----------------------------------------------

// Neighbouring outputs of a job and where one block of their sequences lies.
template <class T>
class TileSource {
 public:
  TileSource(const FoldJob& job, const std::byte* input, std::int64_t stride, std::int64_t width,
             const std::byte* centers)
      : job_(job), input_(input), stride_(stride), width_(width), centers_(centers) {}

  void start_block(std::int64_t first, std::int64_t count) {
    first_ = first;
    if (job_.reduced.rank <= 1) return;
    Cursor cursor(job_.reduced, first);
    for (std::int64_t r = 0; r < count; ++r, cursor.advance(1)) offsets_[r] = cursor.offset();
  }
  bool in_place() const { return job_.direct && stride_ == 1; }

  const T* row(std::int64_t r, T* buffer) const {
    const std::byte* from = input_ + offset(r) * job_.element_size;
    if (in_place()) return reinterpret_cast<const T*>(from);
    job_.load(from, stride_, width_, centers_, centers_ != nullptr, reinterpret_cast<std::byte*>(buffer));
    return buffer;
  }
  std::int64_t ahead(std::int64_t r, std::int64_t s) const { return in_place() ? offset(s) - offset(r) : 0; }

 private:
  std::int64_t offset(std::int64_t r) const {
    return job_.reduced.rank > 1 ? offsets_[r] : (first_ + r) * innermost_stride(job_.reduced);
  }
  const FoldJob& job_;
  const std::byte* input_;  // the first output's first element
  std::int64_t stride_;     // between outputs
  std::int64_t width_;
  const std::byte* centers_;  // the first output's center
  std::int64_t first_ = 0;
  std::int64_t offsets_[kReductionBlock];  // when no one stride tells
};

// Rows this narrow and without gaps are taken a whole group of lanes at a time.
inline constexpr std::int64_t kFlatWidth = 128;

template <class C, class T>
void fold_flat(const T* from, std::int64_t count, std::int64_t width, T* acc) {
  const std::int64_t used = std::min<std::int64_t>(kReductionLanes, count);
  const std::int64_t group = kReductionLanes * width;
  std::fill(acc, acc + used * width, C::template identity<T>());
  std::int64_t r = 0;
  for (; r + 4 * kReductionLanes <= count; r += 4 * kReductionLanes, from += 4 * group)
    combine<C, 4>(acc, {from, from + group, from + 2 * group, from + 3 * group}, group);
  for (; r < count; r += kReductionLanes, from += group)
    combine<C>(acc, from, std::min<std::int64_t>(kReductionLanes, count - r) * width);
  for (std::int64_t half = kReductionLanes / 2, left = used; half >= 1;
       left = std::min(left, half), half /= 2) {
    if (left > half) combine<C>(acc, static_cast<const T*>(acc + half * width), (left - half) * width);
  }
}

template <class C, class T>
void fold_columns(const FoldJob& job, std::int64_t begin, std::int64_t end) {
  FoldDims outer = job.outputs;
  const int last = --outer.rank;
  const std::int64_t size = outer.sizes[last];
  const std::int64_t stride = outer.strides[last];
  const std::int64_t tiles = (size + job.tile - 1) / job.tile;
  T* results = reinterpret_cast<T*>(job.results);
  alignas(64) T memory[kReductionLanes * kFlatWidth];
  alignas(64) T buffers[4 * kMaxColumnTile];
  static_assert(6 * kMaxColumnTile <= kReductionLanes * kFlatWidth);
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t column = unit % tiles * job.tile;
    const std::int64_t block = unit / tiles % job.blocks;
    const std::int64_t row = unit / tiles / job.blocks;
    const std::int64_t output = row * size + column;
    const std::int64_t width = std::min(job.tile, size - column);
    const std::byte* input = job.input + (Cursor(outer, row).offset() + column * stride) * job.element_size;
    const auto bytes = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t first = block * kReductionBlock;
    const std::int64_t count = std::min(kReductionBlock, job.count - first);
    TileSource<T> source(job, input, stride, width, job.centers ? job.centers + output * bytes : nullptr);
    source.start_block(first, count);
    const FoldDims& reduced = job.reduced;
    if (source.in_place() && reduced.rank == 1 && reduced.strides[0] == width && width <= kFlatWidth) {
      fold_flat<C>(reinterpret_cast<const T*>(input) + first * width, count, width, memory);
    } else {
      ColumnBlock<C, T, TileSource<T>>(source, count, width, memory, buffers).fold();
    }
    for (std::int64_t w = 0; w < width; ++w) results[(output + w) * job.blocks + block] = memory[w];
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

template <class C, class T>
constexpr FoldKernel kernel() {
  return {&fold_rows<C, T>, &fold_columns<C, T>, &fold_blocks<C, T>};
}

template <class M>
void fill_loads(LoadFn (&loads)[kDTypeCount]) {
  const LoadFn all[kDTypeCount] = {&load<M, bool>,         &load<M, std::uint8_t>, &load<M, std::int8_t>,
                                   &load<M, std::int16_t>, &load<M, std::int32_t>, &load<M, std::int64_t>,
                                   &load<M, Half>,         &load<M, BFloat16>,     &load<M, float>,
                                   &load<M, double>};
  std::copy(all, all + kDTypeCount, loads);
}

// Maps that only floats have.
template <class M>
void fill_float_loads(LoadFn (&loads)[kDTypeCount]) {
  loads[static_cast<int>(DType::F16)] = &load<M, Half>;
  loads[static_cast<int>(DType::BF16)] = &load<M, BFloat16>;
  loads[static_cast<int>(DType::F32)] = &load<M, float>;
  loads[static_cast<int>(DType::F64)] = &load<M, double>;
}

FoldKernels build() {
  // Sums and products of integers wrap: unsigned arithmetic.
  FoldKernels kernels{{{kernel<SumOf, std::uint64_t>(), kernel<SumOf, float>(), kernel<SumOf, double>()},
                       {kernel<ProdOf, std::uint64_t>(), kernel<ProdOf, float>(), kernel<ProdOf, double>()},
                       {kernel<MaxOf, std::int64_t>(), kernel<MaxOf, float>(), kernel<MaxOf, double>()},
                       {kernel<MinOf, std::int64_t>(), kernel<MinOf, float>(), kernel<MinOf, double>()}},
                      {}};
  fill_loads<Identity>(kernels.load[static_cast<int>(Map::Identity)]);
  fill_loads<NonZero>(kernels.load[static_cast<int>(Map::NonZero)]);
  fill_float_loads<Square>(kernels.load[static_cast<int>(Map::Square)]);
  fill_float_loads<Abs>(kernels.load[static_cast<int>(Map::Abs)]);
  fill_float_loads<CenteredSquare>(kernels.load[static_cast<int>(Map::CenteredSquare)]);
  fill_float_loads<CenteredExp>(kernels.load[static_cast<int>(Map::CenteredExp)]);
  return kernels;
}

}  // namespace

const FoldKernels& fold_kernels() {
  static const FoldKernels kernels = build();
  return kernels;
}

}  // namespace kiln::cpu::KILN_ISA
