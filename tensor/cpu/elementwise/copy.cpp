#include "tensor/cpu/elementwise/copy.h"

#include <bit>

#include "tensor/complex_memory.h"
#include "tensor/cpu/elementwise/copy_bytes.h"
#include "tensor/cpu/elementwise/elementwise.h"
#include "tensor/cpu/elementwise/transpose.h"
#include "tensor/cpu/prefetch.h"
#include "tensor/cpu/walk.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

constexpr std::int64_t kGrain = 32768;
constexpr std::int64_t kShortRow = 16;
constexpr std::int64_t kLine = 64;  // bytes that memory moves at once

unsigned identity(const void* const* in, void* out, std::int64_t n, const Params& params) {
  if (in[0] != out) copy_bytes(out, in[0], n * params.bits / 8);
  return 0;
}

// Elements as they are, whatever they mean.
class RawCopy {
 public:
  RawCopy(const Tensor& target, const Tensor& source)
      : space_(target.layout()),
        item_(static_cast<std::int64_t>(size_of(target.dtype()))),
        load_(convert_table().load_raw[std::countr_zero(size_of(target.dtype()))]),
        store_(convert_table().store_raw[std::countr_zero(size_of(target.dtype()))]) {
    space_.add(source.layout());
    space_.simplify();
    to_ = target.raw_writable();
    from_ = source.raw();
  }

  void operator()() const {
    if (const int dim = crossing_dim(space_); dim >= 0) return copy_across(space_, dim, to_, from_, item_);
    if (space_.sizes().size() > 1 && space_.inner() < kShortRow) return copy_short_rows();
    parallel_for(space_.numel(), kGrain, [this](std::int64_t begin, std::int64_t end) { piece(begin, end); });
  }

 private:
  void piece(std::int64_t begin, std::int64_t end) const {
    if (space_.is_dense(0) && space_.is_dense(1))
      return copy_bytes(to_ + begin * item_, from_ + begin * item_, (end - begin) * item_);
    if (space_.sizes().size() > 1 && space_.strides(0).back() == 1 && space_.strides(1).back() == 1)
      return rows(begin, end);
    Walker target(space_, 0, begin), source(space_, 1, begin);
    target.advance(end - begin, [&](std::int64_t to, std::int64_t length) {
      source.advance(length, [&](std::int64_t from, std::int64_t count) {
        row(to_ + to * item_, target.inner_stride(), from_ + from * item_, source.inner_stride(), count);
      });
    });
  }

  // Rows of which the elements lie together on either side.
  void rows(std::int64_t begin, std::int64_t end) const {
    const std::size_t outer = space_.sizes().size() - 2;
    const std::int64_t to_step = space_.strides(0)[outer] * item_,
                       from_step = space_.strides(1)[outer] * item_;
    each_plane(space_, begin, end, [&](std::int64_t at, std::int64_t count, std::int64_t length) {
      std::byte* to = to_ + Walker(space_, 0, at).offset() * item_;
      const std::byte* from = from_ + Walker(space_, 1, at).offset() * item_;
      for (std::int64_t row = 0; row < count; ++row, to += to_step, from += from_step)
        copy_bytes(to, from, length * item_);
    });
  }

  // Runs of the two are equally long: they share the inner dimension.
  void row(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
           std::int64_t count) const {
    if (to_stride == 1) return load_(from, from_stride, to, count);
    if (from_stride == 1) return store_(from, to, to_stride, count);
    alignas(64) std::byte block[4096];
    const std::int64_t step = static_cast<std::int64_t>(sizeof(block)) / item_;
    for (std::int64_t i = 0; i < count; i += step) {
      const std::int64_t n = std::min(step, count - i);
      load_(from + i * from_stride * item_, from_stride, block, n);
      store_(block, to + i * to_stride * item_, to_stride, n);
    }
  }

  // A few elements per row: a call for each would cost more than they do.
  void copy_short_rows() const {
    switch (item_) {
      case 1:
        return copy_rows_of<std::uint8_t>();
      case 2:
        return copy_rows_of<std::uint16_t>();
      case 4:
        return copy_rows_of<std::uint32_t>();
      default:
        return copy_rows_of<std::uint64_t>();
    }
  }

  template <class T>
  void copy_rows_of() const {
    const std::size_t last = space_.sizes().size() - 1;
    const std::int64_t inner = space_.sizes()[last];
    const std::int64_t rows = space_.sizes()[last - 1];
    const IntDims &to_strides = space_.strides(0), &from_strides = space_.strides(1);
    const auto stretch = [&](T* to, const T* from, std::int64_t count) {
      for (std::int64_t r = 0; r < count; ++r, to += to_strides[last - 1], from += from_strides[last - 1]) {
        for (std::int64_t i = 0; i < inner; ++i) to[i * to_strides[last]] = from[i * from_strides[last]];
      }
    };
    parallel_for(space_.numel() / inner, kGrain / inner, [&](std::int64_t begin, std::int64_t end) {
      // Rows that follow one another along the last dimension but one.
      for (std::int64_t row = begin; row < end;) {
        const std::int64_t count = std::min(rows - row % rows, end - row);
        std::int64_t to = 0, from = 0, rest = row;
        for (std::size_t d = last; d-- > 0; rest /= space_.sizes()[d]) {
          to += rest % space_.sizes()[d] * to_strides[d];
          from += rest % space_.sizes()[d] * from_strides[d];
        }
        stretch(reinterpret_cast<T*>(to_) + to, reinterpret_cast<const T*>(from_) + from, count);
        row += count;
      }
    });
  }

  Space space_;
  std::int64_t item_;
  LoadFn load_;
  StoreFn store_;
  std::byte* to_ = nullptr;
  const std::byte* from_ = nullptr;
};

// Elements of one dtype to another, both dense: without a block in between where one of the two is what
// conversions go by.
class Conversion {
 public:
  static constexpr std::int64_t kBlock = 512;

  Conversion(DType to, DType from, Compute compute) {
    const auto by = static_cast<std::size_t>(compute);
    const DType between = element_of(compute);
    if (to != between) store_ = convert_table().store[by][static_cast<std::size_t>(to)];
    if (from != between) load_ = convert_table().load[static_cast<std::size_t>(from)][by];
  }
  // At most a block.
  void operator()(const std::byte* from, std::byte* to, std::int64_t count) const {
    if (store_ == nullptr) return load_(from, 1, to, count);
    if (load_ == nullptr) return store_(from, to, 1, count);
    alignas(64) std::byte between[kBlock * 8];
    load_(from, 1, between, count);
    store_(between, to, 1, count);
  }

 private:
  LoadFn load_ = nullptr;    // null: the source is what conversions go by
  StoreFn store_ = nullptr;  // null: so is the target
};

void convert_dense(const Tensor& target, const Tensor& source, const Conversion& convert) {
  const auto to_item = static_cast<std::int64_t>(size_of(target.dtype()));
  const auto from_item = static_cast<std::int64_t>(size_of(source.dtype()));
  std::byte* const to = target.raw_writable();
  const std::byte* const from = source.raw();
  parallel_for(target.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; at += Conversion::kBlock) {
      const std::int64_t count = std::min(Conversion::kBlock, end - at);
      // The block after the next is on its way while this one is converted.
      for (std::int64_t i = 0; i < count * from_item; i += kLine)
        cpu::prefetch(from + (at + 2 * Conversion::kBlock) * from_item + i);
      convert(from + at * from_item, to + at * to_item, count);
    }
  });
}

// Are both stored in the same order without gaps?
bool are_dense(const Tensor& target, const Tensor& source) {
  Space space(target.layout());
  space.add(source.layout());
  space.simplify();
  return space.is_dense(0) && space.is_dense(1);
}

}  // namespace

void copy(const Tensor& target, const Tensor& source) {
  if (target.numel() == 0) return;
  if (!broadcastable_to(source.sizes(), target.sizes())) {
    throw InternalError("copy of " + to_string(source.type()) + " into " + to_string(target.type()));
  }
  if (shares_storage(target, source)) {
    if (target.layout() == source.layout() && target.dtype() == source.dtype()) return;
    if (overlaps(target, source)) return copy(target, contiguous_copy(source, source.dtype()));
  }
  if (target.dtype() == source.dtype() && target.dtype() != DType::C128) return RawCopy(target, source)();
  if (is_complex(target.dtype()) || is_complex(source.dtype())) return copy_parts(target, source, copy, fill);
  const Compute compute = compute_of(source.dtype());
  if (are_dense(target, source))
    return convert_dense(target, source, {target.dtype(), source.dtype(), compute});
  Params params;
  params.bits = static_cast<int>(size_of(compute)) * 8;
  const Operand operand{.tensor = &source};
  OpKernels kernels;
  kernels.block[static_cast<int>(element_of(compute))] = identity;
  run_elementwise({.kernels = kernels, .compute = compute, .params = &params}, {&operand, 1}, target);
}

void fill(const Tensor& target, const Tensor& number) {
  copy(target, number.dtype() == target.dtype() ? number : contiguous_copy(number, target.dtype()));
}

Tensor contiguous_copy(const Tensor& source, DType dtype) {
  Tensor result = Tensor::empty(source.sizes(), dtype, source.device());
  copy(result, source);
  return result;
}

}  // namespace kiln::cpu
