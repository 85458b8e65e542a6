#include "tensor/cuda/elementwise.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "tensor/core_ops.h"
#include "tensor/cuda/faults.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/program.h"

namespace kiln::cuda {
namespace {

using Kind = ElementwiseOperand::Kind;

constexpr std::string_view kElementwiseText = R"(#include "tensor/cuda/kernels/elementwise.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__({threads}) {name}(const ElementwiseJob job) {{
  compute_elements<{body}, {result}, {width}, {operands}>(job);
}}
extern "C" __global__ void __launch_bounds__({threads}) {name}_strided(const ElementwiseJob job) {{
  compute_elements<{body}, {result}, 1, {operands}>(job);
}}
)";
constexpr std::int64_t kShortestAcross = 16;

// ---- Programs ----

bool has_elements(const ElementwiseOperand& operand) {
  return operand.kind == Kind::Elements || operand.kind == Kind::ThroughBool;
}

// All that decides the program, and the card.
std::uint64_t key_of(const Elementwise& what, const Tensor& result) {
  static_assert(kSameBody < 256 && kMostCards <= 64 && kDTypeCount <= 16 && kComputeCount <= 4);
  auto key = static_cast<std::uint64_t>(result.device().index);
  const auto add = [&key](auto value, int bits) { key = key << bits | static_cast<std::uint64_t>(value); };
  add(what.body, 8);
  add(what.compute, 2);
  add(result.dtype(), 4);
  for (const ElementwiseOperand& each : what.operands) {
    add(each.kind, 2);
    add(each.as_bool, 1);
    add(has_elements(each) ? each.tensor.dtype() : DType{}, 4);
  }
  return key;
}

// Of a vector: as many as the widest of its elements has in what moves at once.
int width_of(const Elementwise& what, const Tensor& result) {
  std::size_t widest = size_of(result.dtype());
  for (const ElementwiseOperand& each : what.operands)
    if (has_elements(each)) widest = std::max(widest, size_of(each.tensor.dtype()));
  return kVectorBytes / static_cast<int>(widest);
}

// What a profiler shows: the row and the dtypes, or what is copied.
std::string symbol_of(const Elementwise& what, const Tensor& result) {
  const ElementwiseOperand& first = what.operands[0];
  const bool is_same = what.body == kSameBody;
  if (is_same && first.kind == Kind::Number) return fmt::format("fill_{}_bytes", size_of(result.dtype()));
  if (is_same && first.tensor.dtype() == result.dtype())
    return fmt::format("copy_{}_bytes", size_of(result.dtype()));
  std::string symbol(is_same ? core_ops().cast.name() : row_name(what.body));
  bool is_first_dtype = true;
  for (const ElementwiseOperand& each : what.operands) {
    if (each.kind == Kind::None) continue;
    symbol += "_" + std::string(has_elements(each) ? name(each.tensor.dtype()) : "number");
    is_first_dtype = is_first_dtype && has_elements(each) && each.tensor.dtype() == result.dtype();
  }
  return is_first_dtype ? symbol : fmt::format("{}_to_{}", symbol, name(result.dtype()));
}

std::string operand_text(const Elementwise& what, const ElementwiseOperand& operand) {
  const std::string_view value = operand.as_bool ? "bool" : compute_name(what.compute);
  switch (operand.kind) {
    case Kind::None:
      return "Nothing";
    case Kind::Number:
      return fmt::format("Number<{}>", value);
    case Kind::Elements:
    case Kind::ThroughBool:
      break;
  }
  return fmt::format("Elements<{}, {}, {}>", element_name(operand.tensor.dtype()), value,
                     operand.kind == Kind::ThroughBool);
}

std::string text_of(const Elementwise& what, const Tensor& result, const std::string& symbol) {
  std::string operands;
  for (const ElementwiseOperand& each : what.operands)
    operands += (operands.empty() ? "" : ", ") + operand_text(what, each);
  const std::string body = what.body == kSameBody ? "Same" : fmt::format("scalar::{}", row_name(what.body));
  return fmt::format(kElementwiseText, fmt::arg("threads", kThreadsOfBlock), fmt::arg("name", symbol),
                     fmt::arg("body", body), fmt::arg("result", element_name(result.dtype())),
                     fmt::arg("width", width_of(what, result)), fmt::arg("operands", operands));
}

struct Functions {
  FunctionHandle vectors = nullptr, strided = nullptr;
};

// Never forgotten, as programs.
struct KnownFunctions {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, Functions> by_key;
};

Functions functions_of(Context& context, const Elementwise& what, const Tensor& result) {
  static auto* const known = new KnownFunctions;
  const std::uint64_t key = key_of(what, result);
  {
    const std::lock_guard lock(known->mutex);
    const auto found = known->by_key.find(key);
    if (found != known->by_key.end()) return found->second;
  }
  const std::string symbol = symbol_of(what, result), text = text_of(what, result, symbol);
  const Functions made{function_of(context, text, symbol), function_of(context, text, symbol + "_strided")};
  const std::lock_guard lock(known->mutex);
  return known->by_key.insert({key, made}).first->second;
}

// ---- Launches ----

// A walk of which axes may be taken away.
struct Piece {
  WalkAxes walk;
  std::array<std::byte*, kMostOperands + 1> data;  // of the operands and of the result
};

class Run {
 public:
  Run(const Elementwise& what, const Tensor& result)
      : what_(what),
        context_(Context::of(result.device())),
        functions_(functions_of(context_, what, result)),
        width_(width_of(what, result)) {
    items_.back() = static_cast<std::int64_t>(size_of(result.dtype()));
    for (std::size_t k = 0; k < what.operands.size(); ++k)
      if (has_elements(what.operands[k]))
        items_[k] = static_cast<std::int64_t>(size_of(what.operands[k].tensor.dtype()));
  }

  // What has more axes than a launch takes goes by several, along the shortest one.
  void operator()(const Piece& piece) {
    if (piece.walk.fits()) return launch(piece);
    const auto first = piece.walk.sizes.begin() + 1;
    const auto axis = static_cast<std::size_t>(std::min_element(first, piece.walk.sizes.end()) - first) + 1;
    Piece part = piece;
    const std::int64_t size = take(part.walk.sizes, axis);
    std::array<std::int64_t, kMostOperands + 1> steps;
    for (std::size_t k = 0; k < steps.size(); ++k) steps[k] = take(part.walk.strides[k], axis) * items_[k];
    for (std::int64_t i = 0; i < size; ++i) {
      (*this)(part);
      for (std::size_t k = 0; k < steps.size(); ++k)
        if (part.data[k] != nullptr) part.data[k] += steps[k];
    }
  }

 private:
  static std::int64_t take(IntDims& from, std::size_t axis) {
    const std::int64_t taken = from[axis];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(axis));
    return taken;
  }

  // Do whole vectors lie together, each at a place that a vector may have?
  bool has_vectors(const Piece& piece) const {
    const IntDims& sizes = piece.walk.sizes;
    if (piece.walk.strides.back()[0] != 1 || sizes[0] < width_) return false;
    if (sizes.size() > 1 && sizes[0] % width_ != 0) return false;
    for (std::size_t k = 0; k < piece.data.size(); ++k) {
      const IntDims& strides = piece.walk.strides[k];
      if (piece.data[k] == nullptr || strides[0] == 0) continue;
      if (strides[0] != 1) return false;
      if (reinterpret_cast<std::uintptr_t>(piece.data[k]) % static_cast<std::uintptr_t>(width_ * items_[k]) !=
          0)
        return false;
      if (std::any_of(strides.begin() + 1, strides.end(),
                      [&](std::int64_t each) { return each % width_ != 0; }))
        return false;
    }
    return true;
  }

  void launch(const Piece& piece) {
    const bool by_vectors = has_vectors(piece);
    ElementwiseJob job = job_of(piece);
    if (by_vectors) {
      job.rest = job.count % width_;
      job.count /= width_;
      job.axes.sizes[0] /= width_;
      for (std::size_t k = 0; k < piece.data.size(); ++k) {
        if (job.axes.strides[k][0] == 0 && k < what_.operands.size()) job.repeated |= 1U << k;
        job.axes.strides[k][0] *= width_;
      }
    }
    if (what_.refusal) {
      const FaultTicket ticket = expect_fault(context_, what_.refusal);
      job.fault = reinterpret_cast<unsigned long long*>(const_cast<std::uint64_t*>(ticket.word));
      job.launch = ticket.launch;
    }
    run(context_,
        {.function = by_vectors ? functions_.vectors : functions_.strided,
         .threads = std::max(job.count, job.rest)},
        job);
  }

  ElementwiseJob job_of(const Piece& piece) const {
    ElementwiseJob job{};
    job.count = 1;
    for (const std::int64_t size : piece.walk.sizes) job.count *= size;
    job.axes = piece.walk.argument<kMostOperands + 1>();
    for (std::size_t k = 0; k < what_.operands.size(); ++k) {
      job.operands[k] = piece.data[k];
      job.numbers[k] = what_.operands[k].number;
    }
    job.result = piece.data.back();
    job.params = what_.params;
    if (what_.refused) job.refused = reinterpret_cast<unsigned*>(what_.refused.raw_writable());
    if (what_.unless) job.unless = reinterpret_cast<const unsigned*>(what_.unless.raw());
    return job;
  }

  const Elementwise& what_;
  Context& context_;
  Functions functions_;
  std::int64_t width_;
  std::array<std::int64_t, kMostOperands + 1> items_{};  // bytes
};

// Of an operand that is broadcast to the result, by the result's dimensions.
IntDims broadcast_strides(const Tensor& operand, const Tensor& result) {
  IntDims strides(static_cast<std::size_t>(result.rank()), 0);
  if (!operand) return strides;
  const int more = result.rank() - operand.rank();
  for (int d = 0; d < operand.rank(); ++d) {
    if (operand.size(d).fixed() != 1)
      strides[static_cast<std::size_t>(d + more)] = operand.strides()[static_cast<std::size_t>(d)].fixed();
  }
  return strides;
}

IntDims permuted(const IntDims& all, const IntDims& order) {
  IntDims ordered;
  for (const std::int64_t d : order) ordered.push_back(all[static_cast<std::size_t>(d)]);
  return ordered;
}

}  // namespace

WalkAxes walk_along(const Tensor& result, std::span<const Tensor> operands) {
  const IntDims sizes(result.sizes()), places(result.strides());
  IntDims order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return places[static_cast<std::size_t>(a)] > places[static_cast<std::size_t>(b)];
  });
  std::vector<IntDims> strides;
  for (const Tensor& each : operands) strides.push_back(permuted(broadcast_strides(each, result), order));
  strides.push_back(permuted(places, order));
  return WalkAxes(permuted(sizes, order), strides);
}

std::size_t crossing_axis(const WalkAxes& walk, std::size_t operand) {
  const IntDims &from = walk.strides[operand], &to = walk.strides.back();
  if (to[0] != 1 || from[0] <= 1 || walk.sizes[0] < kShortestAcross) return 0;
  for (std::size_t d = 1; d < from.size(); ++d)
    if (from[d] == 1 && walk.sizes[d] >= kShortestAcross) return d;
  return 0;
}

void run_elementwise(const Elementwise& what, const Tensor& result) {
  if (result.numel() == 0) return;
  std::array<Tensor, kMostOperands> tensors;
  for (std::size_t k = 0; k < tensors.size(); ++k)
    if (has_elements(what.operands[k])) tensors[k] = what.operands[k].tensor;
  Piece whole{walk_along(result, tensors), {}};
  whole.data.back() = result.raw_writable();
  for (std::size_t k = 0; k < tensors.size(); ++k)
    if (tensors[k]) whole.data[k] = const_cast<std::byte*>(tensors[k].raw());
  Run(what, result)(whole);
}

}  // namespace kiln::cuda
