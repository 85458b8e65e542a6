// Kernels of the rows that order elements.
#include <algorithm>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/moves/offsets.h"
#include "tensor/cpu/order/sort.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/sort.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

int dim_of(const Tensor& x, const Attrs& attrs) { return rules::dim_attr(attrs, "dim", x.rank()); }

void sort(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const int dim = dim_of(inputs[0], attrs);
  argsort(outputs[1], inputs[0], dim, attrs.get<bool>("descending"));
  gather(outputs[0], inputs[0], dim, outputs[1]);
}

void sorting_order(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  argsort(outputs[0], inputs[0], dim_of(inputs[0], attrs), attrs.get<bool>("descending"));
}

void best(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const int dim = dim_of(inputs[0], attrs);
  // A 0-d tensor has no dimension to shorten: it is its own best, even of none.
  const std::int64_t k = inputs[0].rank() == 0 ? 1 : attrs.get<std::int64_t>("k");
  topk(outputs[1], inputs[0], dim, k, attrs.get<bool>("largest"));
  gather(outputs[0], inputs[0], dim, outputs[1]);
}

// ---- searchsorted ----------------------------------------------------------------------------------------

// The order of `sort`: nan is the greatest.
template <class T>
bool sorts_before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || (b != b && a == a);
  return a < b;
}

template <class T>
void search(const Tensor& sorted, const Tensor& values, const Tensor& result, bool right) {
  const std::int64_t length = sorted.size(sorted.rank() - 1);
  const std::int64_t per_line =
      sorted.rank() == 1 ? std::max<std::int64_t>(values.numel(), 1) : values.size(values.rank() - 1).fixed();
  const T* in = sorted.data<T>();
  const T* wanted = values.data<T>();
  auto* out = result.writable<std::int64_t>();
  parallel_for(values.numel(), 1 << 12, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* line = in + i / per_line * length;
      const T* place = right ? std::upper_bound(line, line + length, wanted[i], sorts_before<T>)
                             : std::lower_bound(line, line + length, wanted[i], sorts_before<T>);
      out[i] = place - line;
    }
  });
}

void searchsorted(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  DType common = search_dtype(inputs[0], inputs[1]);
  if (common == DType::F16 || common == DType::BF16) common = DType::F32;
  if (common == DType::Bool) common = DType::U8;
  const Tensor sorted = contiguous_copy(ordered_sequence(inputs[0], inputs[2]), common);
  const Tensor values = contiguous_copy(inputs[1], common);
  const Tensor places = computed_in(outputs[0], DType::I64);
  visit_dtype(common, [&]<class T>() {
    if constexpr (std::is_arithmetic_v<T>) search<T>(sorted, values, places, searches_right(attrs));
  });
  finish(outputs[0], places);
}

}  // namespace

void add_sort_kernels(Column& column) {
  column.add("sort", sort);
  column.add("argsort", sorting_order);
  column.add("topk", best);
  column.add("searchsorted", searchsorted);
}

}  // namespace kiln::cpu
