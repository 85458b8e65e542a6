
#include "tensor/view.h"
#include "tensor/core_ops.h"
#include "tensor/error.h"
#include "tensor/symbolic_run.h"
#include "tensor/tape/meta.h"

namespace kiln {

void destroy_origin(ViewOrigin* origin) { delete origin; }

bool is_view(const Tensor& x) { return x.impl()->origin && !x.impl()->origin->of_itself; }

namespace {

// Only as_strided can reach out of its storage; all views pass here, so all are checked. Over symbols the
// storage is as long as it is in this call, which other views must not be asked about.
void check_inside(const Op& op, const Tensor& input, const Layout& layout, DType dtype) {
  if (!op.has(kCountsPlaces) && (!input.has_elements() || SymbolicRun::current() != nullptr)) return;
  if (count_elements(layout.sizes) == 0) return;  // wherever it is, nothing is read there
  const auto count = static_cast<std::int64_t>(input.storage()->bytes() / size_of(dtype));
  const auto [begin, end] = extent(layout);
  if (begin >= 0 && end <= count) return;
  throw OpError(ErrorKind::Index,
                std::string(op.name()) + ": elements up to " + std::to_string(end - 1) +
                    " are asked for, the storage has " + std::to_string(count),
                {0});
}

}  // namespace

void link_view(const Op& op, const Tensor& input, const Attrs& attrs, int output, const Tensor& view) {
  // To the tape such an alias is a tensor of its own: writes to it change data, not history.
  if (op.has(kStopsGradient)) return;
  std::unique_ptr<ViewOrigin, MetaDeleter>& origin = view.impl()->origin;
  if (const ViewOrigin* before = input.impl()->origin.get()) {
    origin.reset(new ViewOrigin(*before));
    origin->of_itself = false;
    origin->follows = false;
    // Where nothing is recorded nobody asked for the input's history, which may wait to be taken anew: the
    // view has none, and not that one.
    origin->history_version = tape::history_version(base_of(*before));
  } else {
    origin.reset(new ViewOrigin{input, {}, tape::history_version(input)});
  }
  origin->steps = origin->steps.then({&op, attrs, output});
  if (SymbolicRun* run = SymbolicRun::current()) [[unlikely]]
    run->add(*view.impl());
}

void link_as_strided(const Tensor& base, const Tensor& view) {
  static const Op& row = core_ops().as_strided;
  Attrs attrs(row);
  attrs.set("size", view.sizes()).set("stride", view.strides()).set("storage_offset", view.offset());
  link_view(row, base, attrs, 0, view);
}

const Tensor& base_of(const ViewOrigin& origin) {
  const ViewOrigin* above = origin.base.impl()->origin.get();
  return above == nullptr ? origin.base : above->base;
}

ViewPath::ViewPath(const Tensor& view)
    : steps_(view.impl()->origin->steps),
      base_(base_of(*view.impl()->origin).layout()),
      view_(view.layout()) {}

bool ViewPath::lies_as_base(const Tensor& x) const {
  for (std::size_t d = 0; d < base_.sizes.size(); ++d) {
    if (base_.sizes[d] > 1 && base_.strides[d] != x.strides()[d]) return false;
  }
  return true;
}

std::vector<ViewStep> ViewPath::of(const Tensor& like_base) const {
  return counts_places() && !steps_.change_dtype() && lies_as_base(like_base) ? by_place(like_base.layout())
                                                                              : steps_.in_order();
}

bool ViewPath::can_be_of(const Tensor& like_base) const {
  if (!steps_.count_places()) return true;
  if (steps_.change_dtype()) return false;
  const auto [base_begin, base_end] = extent(base_);
  const auto [view_begin, view_end] = extent(view_);
  return lies_as_base(like_base) && view_begin >= base_begin && view_end <= base_end;
}

std::vector<ViewStep> ViewPath::by_place(const Layout& from) const {
  static const Op& kAsStrided = core_ops().as_strided;
  Attrs attrs(kAsStrided);
  attrs.set("size", view_.sizes)
      .set("stride", view_.strides)
      .set("storage_offset", from.offset + view_.offset - base_.offset);
  return {{&kAsStrided, std::move(attrs), 0}};
}

Tensor follow_steps(Tensor x, std::span<const ViewStep> steps) {
  for (const ViewStep& step : steps) {
    const Tensors parts = kiln::bind(*step.op, {&x, 1}, step.attrs);
    const auto part = static_cast<std::size_t>(step.output);
    if (part >= parts.size())
      throw OpError(ErrorKind::Shape, std::string(step.op->name()) + " gives fewer parts of these sizes");
    x = parts[part];
  }
  return x;
}

Tensors apply_view(const Op& op, const Tensor& input, const Attrs& attrs) {
  const DType dtype = op.dtype_of_view(input.dtype(), attrs);
  // Real numbers are their own real part.
  const bool is_whole = op.identity.kind == Identity::Kind::TakesPart && dtype == input.dtype();
  std::vector<Layout> layouts =
      is_whole ? std::vector<Layout>{input.layout()} : op.view(input.layout(), attrs);
  Tensors outputs;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    check_inside(op, input, layouts[i], dtype);
    Tensor output = Tensor::alias(input, std::move(layouts[i]), dtype);
    link_view(op, input, attrs, static_cast<int>(i), output);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace kiln
