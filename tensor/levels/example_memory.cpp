#include "tensor/levels/example_memory.h"

#include <fmt/format.h>

#include <vector>

#include "tensor/ops/rules.h"
#include "tensor/ops/view_layout.h"

namespace kiln::levels {
namespace {

constexpr std::string_view kOffset = "storage_offset";

// Calls `visit` with the place of every element.
template <class Visit>
void each_place(const Layout& layout, std::size_t dim, std::int64_t place, const Visit& visit) {
  if (dim == layout.sizes.size()) return visit(place);
  for (Dim i = 0; i < layout.sizes[dim]; ++i)
    each_place(layout, dim + 1, place + i * layout.strides[dim], visit);
}

// Is every place of the piece, which is within the extent of `own`, that of an element of `own`?
bool is_among(const Layout& piece, const Layout& own) {
  std::vector<bool> has_element(static_cast<std::size_t>(extent(own).second));
  each_place(own, 0, own.offset,
             [&](std::int64_t place) { has_element[static_cast<std::size_t>(place)] = true; });
  bool all = true;
  each_place(piece, 0, piece.offset,
             [&](std::int64_t place) { all = all && has_element[static_cast<std::size_t>(place)]; });
  return all;
}

[[noreturn]] void refuse(const Op& op, const Layout& piece, std::int64_t count) {
  throw OpError(
      ErrorKind::Index,
      fmt::format("vmap: {} of sizes {} and strides {} from place {} on reaches out of the memory of one "
                  "example, which has {} elements",
                  op.name(), to_string(piece.sizes), to_string(piece.strides), piece.offset, count),
      {0}, "stay within the example, or take the view of the whole batch outside of vmap");
}

}  // namespace

std::shared_ptr<const Layout> memory_of(const Tensor& x) {
  const Wrapper& wrapper = *wrapper_of(x);
  return wrapper.memory ? wrapper.memory : std::make_shared<const Layout>(wrapper.value.layout());
}

void check_own_places(const Op& op, const Tensor& x, const Attrs& attrs, Dim whole) {
  const Layout piece = as_strided_layout(x.layout(), attrs).front();
  if (count_elements(piece.sizes) == 0) return;
  const std::shared_ptr<const Layout> memory = memory_of(x);
  Layout own = rules::example_layout(*memory);
  own.offset = 0;
  const std::int64_t count = extent(own).second;
  if (extent(piece).second > count) refuse(op, piece, count);
  const Dim apart = memory->strides[0];
  const bool shared = apart == 0 || whole == 1;
  if (!shared && apart < count && !is_among(piece, own)) refuse(op, piece, count_elements(own.sizes));
}

Attrs places_below(const Attrs& attrs, const Layout& memory) {
  Attrs below = attrs;
  if (const auto* offset = attrs.find<Dim>(kOffset)) below.set(kOffset, *offset + memory.offset);
  return below;
}

std::shared_ptr<const Layout> memory_like(const Layout& memory, const Tensor& x, const Tensor& result) {
  Layout like = memory;
  like.offset = result.offset() - x.offset();
  like.strides[0] = result.strides()[0];
  return std::make_shared<const Layout>(std::move(like));
}

}  // namespace kiln::levels
