#include "interpreter/capture/flow/list_rows.h"

#include <algorithm>

#include "interpreter/values/objects.h"
#include "tensor/host_view.h"
#include "tensor/view.h"

namespace kiln::interp::capture {

// Each is memory of its own, so that a list from which items are taken holds no others.
const Tensor& AppendedRows::item(std::int64_t number) {
  const HostView from(rows_);
  while (static_cast<std::int64_t>(items_.size()) <= number) {
    const Dims sizes(rows_.sizes().begin() + 1, rows_.sizes().end());
    const Tensor made = Tensor::empty(sizes, rows_.dtype(), Device{});
    const WritableHostView to(made);
    const std::byte* const first = from.bytes() + items_.size() * to.byte_count();
    std::copy_n(first, to.byte_count(), to.bytes());
    items_.push_back(made);
  }
  return items_[static_cast<std::size_t>(number)];
}

std::optional<Tensor> AppendedRows::shown(const Tensor& x) {
  if (!shares_storage(x, rows_)) return std::nullopt;
  Layout layout = x.layout();
  const std::int64_t elements = rows_.strides()[0].known();
  const std::int64_t first = layout.offset.known() - rows_.layout().offset.known();
  const Tensor& of = item(first / elements);
  layout.offset = first % elements;
  return same(layout, of.layout()) ? of : Tensor::alias(of, std::move(layout));
}

void AppendedRows::append_until(std::int64_t length) {
  std::vector<Value>& items = list_->items;
  const auto before = static_cast<std::int64_t>(items.size());
  for (std::int64_t k = before; k < length; ++k) items.emplace_back(item(k - before));
}

}  // namespace kiln::interp::capture
