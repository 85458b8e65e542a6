#include "tensor/cuda/copy.h"

#include <cstring>
#include <string>

#include <fmt/format.h>

#include "tensor/complex_memory.h"
#include "tensor/convert.h"
#include "tensor/core_ops.h"
#include "tensor/cuda/context.h"
#include "tensor/cuda/elementwise.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/program.h"
#include "tensor/cuda/staging.h"
#include "tensor/integers.h"
#include "tensor/transfer.h"

namespace kiln::cuda {
namespace {

using Kind = ElementwiseOperand::Kind;

constexpr std::string_view kTransposeText = R"(#include "tensor/cuda/kernels/transpose.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__({}) {}(const TransposeJob job) {{
  transpose_tiles<{}, {}, {}>(job);
}}
)";
constexpr std::int64_t kTile = 32;  // as in the kernel

// ---- Elements as bits ----

DType bits_of(DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return DType::U8;
    case 2:
      return DType::I16;
    case 4:
      return DType::I32;
    default:
      return DType::I64;
  }
}

template <class To>
std::uint64_t bits_of_one(const Tensor& x, bool through_bool) {
  To value{};
  visit_dtype(x.dtype(), [&]<class From>() {
    From from;
    std::memcpy(&from, x.raw(), sizeof(From));
    const auto wide = scalar::widen(from);
    value = through_bool ? scalar::convert<To>(scalar::widen(scalar::convert<bool>(wide)))
                         : scalar::convert<To>(wide);
  });
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(To));
  return bits;
}
// As memory holds it.
std::uint64_t bits_in(DType dtype, const Tensor& x) {
  return visit_dtype(dtype, [&]<class To>() { return bits_of_one<To>(x, false); });
}

// ---- Copies ----

bool are_dense(const WalkAxes& walk) {
  return walk.sizes.size() == 1 &&
         (walk.sizes[0] == 1 || (walk.strides[0][0] == 1 && walk.strides[1][0] == 1));
}

void convert(const Tensor& target, const Tensor& source, const Tensor& unless) {
  Elementwise what;
  what.compute = compute_of(source.dtype());
  what.operands[0] = {.kind = Kind::Elements, .tensor = source};
  what.unless = unless;
  run_elementwise(what, target);
}

std::string transpose_symbol(DType to, DType from) {
  return to == from ? fmt::format("transpose_{}_bytes", size_of(to))
                    : fmt::format("transpose_{}_to_{}", name(from), name(to));
}

// Without the first axis and another one.
WalkAxes without_axes(const WalkAxes& walk, std::size_t axis) {
  const auto others = [axis](const IntDims& all) {
    IntDims some;
    for (std::size_t d = all.size(); d-- > 1;)
      if (d != axis) some.push_back(all[d]);
    return some;
  };
  const IntDims strides[] = {others(walk.strides[0]), others(walk.strides[1])};
  return WalkAxes(others(walk.sizes), strides);
}

// `axis`: along which elements of the source are neighbours.
void transpose(const Tensor& target, const Tensor& source, const WalkAxes& walk, std::size_t axis) {
  const WalkAxes outer = without_axes(walk, axis);
  if (!outer.fits()) return convert(target, source, {});
  TransposeJob job{.rows = walk.sizes[axis],
                   .columns = walk.sizes[0],
                   .row_stride = walk.strides[1][axis],
                   .column_stride = walk.strides[0][0],
                   .across = ceil_divide(walk.sizes[0], kTile),
                   .tiles = ceil_divide(walk.sizes[0], kTile) * ceil_divide(walk.sizes[axis], kTile),
                   .outer = outer.argument<2>(),
                   .source = nullptr,
                   .result = target.raw_writable()};
  job.source = source.raw();
  for (const std::int64_t size : outer.sizes) job.tiles *= size;
  Context& context = Context::of(target.device());
  const std::string symbol = transpose_symbol(target.dtype(), source.dtype());
  const std::string text =
      fmt::format(kTransposeText, kThreadsOfBlock, symbol, element_name(bits_of(source.dtype())),
                  element_name(source.dtype()), element_name(target.dtype()));
  run(context, {.function = function_of(context, text, symbol), .threads = job.tiles * kThreadsOfBlock}, job);
}

// Both on the card, and apart.
void copy_there(const Tensor& target, const Tensor& source) {
  const WalkAxes walk = walk_along(target, {&source, 1});
  if (target.dtype() == source.dtype() && are_dense(walk)) {
    std::byte* const to = target.raw_writable();
    return copy({target.device(), to}, {source.device(), const_cast<std::byte*>(source.raw())},
                static_cast<std::size_t>(walk.sizes[0]) * size_of(target.dtype()));
  }
  const bool as_it_is = target.dtype() == source.dtype();
  const Tensor to = as_it_is ? as_bits(target) : target, from = as_it_is ? as_bits(source) : source;
  if (const std::size_t axis = crossing_axis(walk, 0); axis != 0) return transpose(to, from, walk, axis);
  convert(to, from, {});
}

// By way of memory in order, unless the target is that.
void copy_from_elsewhere(const Tensor& target, const Tensor& source) {
  const bool is_direct =
      target.is_contiguous() && target.dtype() == source.dtype() && target.sizes() == source.sizes();
  const Tensor there = is_direct ? target : Tensor::empty(source.sizes(), source.dtype(), target.device());
  transfer(there, source);
  if (!is_direct) copy_there(target, there);
}

// ---- Fills ----

// The four bytes of which all of the memory consists, where there are such.
bool repeats_words(std::uint64_t bits, std::size_t item, std::uint32_t& word) {
  for (std::size_t bytes = item; bytes < 8; bytes *= 2) bits |= bits << (8 * bytes);
  word = static_cast<std::uint32_t>(bits);
  return word == bits >> 32;
}

bool fill_memory(const Tensor& target, std::uint64_t bits) {
  const WalkAxes walk = walk_along(target, {});
  std::uint32_t word = 0;
  if (walk.sizes.size() > 1 || (walk.strides[0][0] != 1 && walk.sizes[0] > 1)) return false;
  if (!repeats_words(bits, size_of(target.dtype()), word)) return false;
  Context& context = Context::of(target.device());
  const auto to = reinterpret_cast<Address>(target.raw_writable());
  const std::size_t bytes = static_cast<std::size_t>(walk.sizes[0]) * size_of(target.dtype());
  if (word == (word & 0xffU) * 0x01010101U) {
    give(context, OtherWork{"cuMemsetD8Async", {to, word, bytes}, [=](StreamHandle stream) {
                              return driver().api.cuMemsetD8Async(to, static_cast<unsigned char>(word), bytes,
                                                                  stream);
                            }});
    return true;
  }
  if (to % sizeof(word) != 0 || bytes % sizeof(word) != 0) return false;
  give(context, OtherWork{"cuMemsetD32Async", {to, word, bytes}, [=](StreamHandle stream) {
                            return driver().api.cuMemsetD32Async(to, word, bytes / sizeof(word), stream);
                          }});
  return true;
}

}  // namespace

Tensor as_bits(const Tensor& x) {
  x.check_readable();
  return Tensor::from_storage(x.storage(), x.layout(), bits_of(x.dtype()));
}

void copy_elements(const Tensor& target, const Tensor& source) {
  if (target.numel() == 0) return;
  if (is_on_host(source.device()) && source.numel() == 1) return fill_elements(target, source);
  if (is_complex(target.dtype()) || is_complex(source.dtype()))
    return copy_parts(target, source, copy_elements, fill_elements);
  if (source.device() != target.device()) return copy_from_elsewhere(target, source);
  if (shares_storage(target, source)) {
    if (target.layout() == source.layout() && target.dtype() == source.dtype()) return;
    if (overlaps(target, source)) return copy_there(target, laid_out(source));
  }
  copy_there(target, source);
}

void copy_unless(const Tensor& refused, const Tensor& target, const Tensor& source) {
  const bool as_it_is = target.dtype() == source.dtype();
  convert(as_it_is ? as_bits(target) : target, as_it_is ? as_bits(source) : source, refused);
}

void fill_elements(const Tensor& target, const Tensor& number) {
  if (target.numel() == 0) return;
  if (is_complex(target.dtype())) {
    const Complex<double> value = number.item_complex();
    fill_elements(part_in_memory(target, 0), Tensor::number(value.real));
    return fill_elements(part_in_memory(target, 1), Tensor::number(value.imaginary));
  }
  number.check_readable();
  const std::uint64_t bits = bits_in(target.dtype(), number);
  if (fill_memory(target, bits)) return;
  Elementwise what;
  what.compute = compute_of(bits_of(target.dtype()));
  what.operands[0] = {.kind = Kind::Number, .number = bits};
  run_elementwise(what, as_bits(target));
}

Tensor unset_word(Device device) {
  const Tensor word = Tensor::empty(Dims{1}, DType::I32, device);
  fill_elements(word, Tensor::number(false));
  return word;
}

Tensor laid_out(const Tensor& source) {
  Tensor result = Tensor::empty(source.sizes(), source.dtype(), source.device());
  if (is_complex(source.dtype())) {
    copy_elements(result, source);
  } else if (result.numel() != 0) {
    copy_there(result, source);
  }
  return result;
}

std::uint64_t bits_in(Compute compute, const Tensor& number, bool through_bool) {
  switch (compute) {
    case Compute::F32:
      return bits_of_one<float>(number, through_bool);
    case Compute::F64:
      return bits_of_one<double>(number, through_bool);
    case Compute::I32:
      return bits_of_one<int>(number, through_bool);
    case Compute::I64:
      break;
  }
  return bits_of_one<long long>(number, through_bool);
}

std::uint64_t bits_as_bool(const Tensor& number) { return bits_of_one<bool>(number, false); }

}  // namespace kiln::cuda
