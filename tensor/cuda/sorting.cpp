// Kernels on cards of the rows that order elements, and of searches in what is ordered.
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tensor/cuda/copy.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/kernels/search_job.h"
#include "tensor/cuda/launch.h"
#include "tensor/cuda/operands.h"
#include "tensor/cuda/program.h"
#include "tensor/cuda/sort.h"
#include "tensor/functions.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/sort.h"

namespace kiln::cuda {
namespace {

constexpr std::string_view kSearchText = R"(#include "tensor/cuda/kernels/search.cuh"

using namespace kiln;
using namespace kiln::cuda;

extern "C" __global__ void __launch_bounds__(kThreads) search(const SearchJob job) {{ search_rows<{}, {}, {}>(job); }}
)";

// ---- Rows along a dimension ----

// A view with a dimension last. A tensor without dimensions is a row of one element.
Tensor with_last(const Tensor& x, int dim) {
  if (x.rank() == 0) return ops::unsqueeze(x, 0);
  return dim == x.rank() - 1 ? x : ops::transpose(x, dim, x.rank() - 1);
}

// A result whose rows lie along a dimension, as kernels write them: contiguous rows, which are the result
// itself where they can be.
class RowsOfResult {
 public:
  RowsOfResult(const Tensor& result, int dim) : target_(with_last(result, dim)), rows_(target_) {
    if (!rows_.is_contiguous()) rows_ = Tensor::empty(target_.sizes(), target_.dtype(), target_.device());
  }
  const Tensor& rows() const { return rows_; }
  void finish() const {
    if (!target_.is_contiguous()) copy_elements(target_, rows_);
  }

 private:
  Tensor target_, rows_;
};

int dim_of(const Tensor& x, const Attrs& attrs) { return rules::dim_attr(attrs, "dim", x.rank()); }

void sort(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const int dim = dim_of(inputs[0], attrs);
  const Tensor keys = in_order(with_last(inputs[0], dim));
  const RowsOfResult values(outputs[0], dim), places(outputs[1], dim);
  find_stable_order(places.rows(), keys, attrs.get<bool>("descending"));
  take_of_rows(values.rows(), keys, places.rows());
  values.finish();
  places.finish();
}

void argsort(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const int dim = dim_of(inputs[0], attrs);
  const RowsOfResult places(outputs[0], dim);
  find_stable_order(places.rows(), in_order(with_last(inputs[0], dim)), attrs.get<bool>("descending"));
  places.finish();
}

void topk(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  if (outputs[0].numel() == 0) return;
  const int dim = dim_of(inputs[0], attrs);
  const Tensor keys = in_order(with_last(inputs[0], dim));
  const RowsOfResult values(outputs[0], dim);
  const Tensor order = stable_order(keys, attrs.get<bool>("largest"));
  take_of_rows(values.rows(), keys, order);
  values.finish();
  const Tensor places = with_last(outputs[1], dim);
  copy_elements(places, ops::narrow(order, order.rank() - 1, 0, places.size(places.rank() - 1)));
}

// ---- Searches ----

// In order, in a dtype, on the card.
Tensor on_device(const Tensor& x, DType dtype, Device device) {
  if (x.dtype() == dtype && x.device() == device && x.is_contiguous()) return x;
  Tensor copy = Tensor::empty(x.sizes(), dtype, device);
  copy_elements(copy, x);
  return copy;
}

// Whose keys order as numbers of both do.
DType key_dtype(const Tensor& sequence, const Tensor& values) {
  const DType common = search_dtype(sequence, values);
  return common == DType::F16 || common == DType::BF16 ? DType::F32 : common;
}

void searchsorted(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& result = outputs[0];
  const DType dtype = key_dtype(inputs[0], inputs[1]);
  const Tensor sequence = on_device(ordered_sequence(inputs[0], inputs[2]), dtype, result.device());
  const Tensor values = on_device(inputs[1], dtype, result.device());
  if (result.numel() == 0) return;
  SearchJob job{
      .sequence = order_job(sequence, false),
      .values = {},
      .count = result.numel().fixed(),
      .per_row = sequence.rank() == 1 ? result.numel().fixed() : values.size(values.rank() - 1).fixed(),
      .result = result.raw_writable()};
  job.values = job.sequence;
  job.values.keys = values.raw();
  Context& context = Context::of(result.device());
  const std::string text =
      fmt::format(kSearchText, keys_name(dtype), element_name(result.dtype()), searches_right(attrs));
  run(context, {.function = function_of(context, text, "search"), .threads = job.count}, job);
}

}  // namespace

void add_sorting_kernels(Kernels& kernels) {
  kernels.add("sort", sort);
  kernels.add("argsort", argsort);
  kernels.add("topk", topk);
  kernels.add("searchsorted", searchsorted);
}

}  // namespace kiln::cuda
