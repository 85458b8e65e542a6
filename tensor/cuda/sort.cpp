#include "tensor/cuda/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tensor/cuda/copy.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/operands.h"
#include "tensor/cuda/program.h"
#include "tensor/error.h"
#include "tensor/integers.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kSortText = R"(#include "tensor/cuda/kernels/sort.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__(kThreads) {}(const OrderJob job) {{ {}(job); }}
)";
constexpr std::string_view kPassText = R"(#include "tensor/cuda/kernels/sort.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__(kThreads) order_counts(const OrderJob job) {{ count_digits<{0}>(job); }}
extern "C" __global__ void __launch_bounds__(kThreads) order_sums(const OrderJob job) {{ sum_counts(job); }}
extern "C" __global__ void __launch_bounds__(kThreads) order_pass(const OrderJob job) {{ place_by_digit<{0}>(job); }}
)";
constexpr std::string_view kTakeText = R"(#include "tensor/cuda/kernels/sort.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__(kThreads) take_elements(const TakeJob job) {{ take_of_rows<{}>(job); }}
)";

constexpr std::int64_t kShortRow = 48;  // up to here comparing with all others is less work than passes

std::int64_t row_length(const Tensor& rows) { return rows.size(rows.rank() - 1).fixed(); }

void launch(Context& context, const std::string& text, const char* name, const OrderJob& job,
            std::int64_t threads) {
  run(context, {.function = function_of(context, text, name), .threads = threads}, job);
}

// ---- Passes ----

// Words with their places, as one pass leaves them for the next.
struct Between {
  Tensor words, places;
};
Between memory_between(const Tensor& keys) {
  const std::int64_t count = keys.numel();
  return {scratch(count * static_cast<std::int64_t>(size_of(keys.dtype())), keys.device()),
          scratch(count * static_cast<std::int64_t>(sizeof(unsigned)), keys.device())};
}

void order_by_passes(const Tensor& keys, OrderJob job) {
  Context& context = Context::of(keys.device());
  const std::string text = fmt::format(kPassText, keys_name(keys.dtype()));
  job.tiles = ceil_divide(static_cast<std::int64_t>(job.length),
                          std::int64_t{tile_elements(static_cast<int>(size_of(keys.dtype())))});
  const std::int64_t digits = job.rows * kDigits, tiles = job.rows * job.tiles;
  const Tensor counts = scratch(digits * job.tiles * 4, keys.device()),
               totals = scratch(digits * 4, keys.device());
  job.counts = reinterpret_cast<unsigned*>(counts.raw_writable());
  job.totals = reinterpret_cast<unsigned*>(totals.raw_writable());
  Between from, to;
  for (; job.shift < job.bits; job.shift += kDigitBits) {
    const bool is_last = job.shift + kDigitBits >= job.bits;
    if (!is_last && !to.words) to = memory_between(keys);
    job.words = from.words ? from.words.raw() : nullptr;
    job.places = from.places ? reinterpret_cast<const unsigned*>(from.places.raw()) : nullptr;
    job.next_words = is_last ? nullptr : to.words.raw_writable();
    job.next_places = is_last ? nullptr : reinterpret_cast<unsigned*>(to.places.raw_writable());
    launch(context, text, "order_counts", job, tiles * kThreadsOfBlock);
    launch(context, text, "order_sums", job, digits * 32);
    launch(context, text, "order_pass", job, tiles * kThreadsOfBlock);
    std::swap(from, to);
  }
}

// How many bits of a word differ between keys.
int deciding_bits(DType dtype, std::optional<std::int64_t> below) {
  const int all = static_cast<int>(size_of(dtype)) * 8;
  if (!below) return all;
  const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(*below - 1, 1));
  return std::min(all, static_cast<int>(std::bit_width(most)));
}

std::uint64_t sign_of(DType dtype) { return std::uint64_t{1} << (8 * size_of(dtype) - 1); }

std::uint64_t infinity_of(DType dtype) {
  switch (dtype) {
    case DType::F16:
      return 0x7c00;
    case DType::BF16:
      return 0x7f80;
    case DType::F32:
      return 0x7f800000;
    case DType::F64:
      return 0x7ff0000000000000;
    default:
      return 0;
  }
}

}  // namespace

const char* keys_name(DType dtype) {
  static constexpr std::array kIntegers = {"Keys<unsigned char, false>", "Keys<unsigned short, false>",
                                           "Keys<unsigned, false>", "Keys<unsigned long long, false>"};
  static constexpr std::array kFloats = {"", "Keys<unsigned short, true>", "Keys<unsigned, true>",
                                         "Keys<unsigned long long, true>"};
  const auto width = static_cast<std::size_t>(std::countr_zero(size_of(dtype)));
  return (is_float(dtype) ? kFloats : kIntegers)[width];
}

OrderJob order_job(const Tensor& keys, bool descending) {
  const DType dtype = keys.dtype();
  const bool is_signed = !is_float(dtype) && dtype != DType::U8 && dtype != DType::Bool;
  OrderJob job{};
  job.length = row_length(keys);
  job.rows = job.length == 0 ? 0 : keys.numel().fixed() / job.length;
  job.tiles = 1;
  job.keys = keys.raw();
  job.infinity = infinity_of(dtype);
  job.flip = (is_signed ? sign_of(dtype) : 0) ^ (descending ? ~std::uint64_t{0} : 0);
  return job;
}

Tensor stable_order(const Tensor& keys, bool descending, std::optional<std::int64_t> below) {
  Tensor result = Tensor::empty(keys.sizes(), DType::I64, keys.device());
  find_stable_order(result, keys, descending, below);
  return result;
}

void find_stable_order(const Tensor& result, const Tensor& keys, bool descending,
                       std::optional<std::int64_t> below) {
  if (keys.numel() == 0) return;
  if (row_length(keys) > std::int64_t{0xffffffff})
    throw OpError(ErrorKind::Value, "lines of more than 2^32 - 1 elements cannot be sorted", {0});
  OrderJob job = order_job(keys, descending);
  job.bits = deciding_bits(keys.dtype(), below);
  job.result = reinterpret_cast<long long*>(result.raw_writable());
  const bool is_short = job.length <= kShortRow;
  if (!is_short && job.length > tile_elements(static_cast<int>(size_of(keys.dtype())))) {
    return order_by_passes(keys, job);
  }
  const char* const body = is_short ? "order_by_counting" : "order_in_tile";
  const std::string text =
      fmt::format(kSortText, "order_rows", fmt::format("{}<{}>", body, keys_name(keys.dtype())));
  launch(Context::of(keys.device()), text, "order_rows", job,
         is_short ? job.rows * job.length : job.rows * kThreadsOfBlock);
}

void take_of_rows(const Tensor& result, const Tensor& source, const Tensor& order) {
  if (result.numel() == 0) return;
  TakeJob job{.rows = 0,
              .length = row_length(source),
              .count = row_length(result),
              .order_length = row_length(order),
              .source = source.raw(),
              .order = reinterpret_cast<const long long*>(order.raw()),
              .result = result.raw_writable()};
  job.rows = result.numel().fixed() / job.count;
  Context& context = Context::of(result.device());
  const std::string text = fmt::format(kTakeText, element_name(as_bits(source).dtype()));
  run(context, {.function = function_of(context, text, "take_elements"), .threads = result.numel()}, job);
}

}  // namespace kiln::cuda
