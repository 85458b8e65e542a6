#include "tensor/ops/view_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/how_many.h"
#include "tensor/integers.h"
#include "tensor/ops/rules.h"

namespace kiln {

namespace {

using rules::dim_attr;

Dim int_attr(const Attrs& attrs, std::string_view name) { return attrs.get<Dim>(name); }

std::optional<Dim> optional_int(const Attrs& attrs, std::string_view name) {
  const auto* value = attrs.find<Dim>(name);
  return value ? std::optional<Dim>(*value) : std::nullopt;
}

// Pieces of `lengths` one after the other along `dim`.
std::vector<Layout> pieces(const Layout& input, int dim, const Dims& lengths) {
  std::vector<Layout> layouts;
  Dim start = 0;
  for (const Dim length : lengths) {
    Layout piece = input;
    piece.sizes[as_index(dim)] = length;
    piece.offset += start * input.strides[as_index(dim)];
    start += length;
    layouts.push_back(std::move(piece));
  }
  return layouts;
}

void need_rank(const Layout& input, std::string_view op) {
  if (input.rank() > 0) return;
  throw OpError(ErrorKind::Shape, fmt::format("{}: a 0-d tensor has no dimension to take apart", op), {0});
}

}  // namespace

Dims resolve_sizes(std::span<const Dim> sizes, std::span<const Dim> from, std::string_view op) {
  Dims result = rules::to_dims(sizes);
  const Dim count = count_elements(from);
  Dim* unknown = nullptr;
  Dims known;
  for (Dim& size : result) {
    if (size >= 0) {
      known.push_back(size);
    } else if (size == -1 && unknown == nullptr) {
      unknown = &size;
    } else {
      throw OpError(ErrorKind::Shape, fmt::format("{}: {} has {}", op, to_string(sizes),
                                                  size == -1 ? "more than one -1" : "a negative size"));
    }
  }
  const Dim filled = count_elements(known);
  const bool fits = unknown ? filled != 0 && count % filled == 0 : filled == count;
  if (!fits) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("{}: {} of {} {} not fill {}", op, how_many(count, "element"), to_string(from),
                              count == 1 ? "does" : "do", to_string(sizes)),
                  {0});
  }
  if (unknown) *unknown = count / filled;
  return result;
}

std::optional<Dims> view_strides(const Layout& layout, std::span<const Dim> sizes) {
  if (count_elements(sizes) == 0) return contiguous_strides(sizes);
  Dims strides(sizes.size(), 1);
  int to = static_cast<int>(sizes.size()) - 1;
  // Walk runs of input dimensions that lie without gaps; each must be filled by whole output dimensions.
  int from = layout.rank() - 1;
  while (from >= 0) {
    const Dim inner = layout.strides[as_index(from)];
    Dim run = layout.sizes[as_index(from)];
    for (--from; from >= 0; --from) {
      if (layout.sizes[as_index(from)] == 1) continue;
      // A run of size 1 so far has no stride of its own: the next dimension starts the run anew.
      if (run == 1 || layout.strides[as_index(from)] != run * inner) break;
      run *= layout.sizes[as_index(from)];
    }
    if (run == 1) continue;
    Dim filled = 1;
    for (; to >= 0 && (filled < run || sizes[as_index(to)] == 1); --to) {
      strides[as_index(to)] = filled * inner;
      filled *= sizes[as_index(to)];
    }
    if (filled != run) return std::nullopt;
  }
  for (; to >= 0; --to)
    strides[as_index(to)] = to + 1 < static_cast<int>(sizes.size()) ? strides[as_index(to + 1)] : 1;
  return strides;
}

Dims expand_sizes(std::span<const Dim> from, std::span<const Dim> to, std::string_view op) {
  Dims result = rules::to_dims(to);
  const std::size_t extra = to.size() - std::min(to.size(), from.size());
  const auto fail = [&](std::string_view why) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("{}: {} cannot be expanded to {}: {}", op, to_string(from), to_string(to), why),
                  {0});
  };
  if (to.size() < from.size())
    fail(fmt::format("it has {}, more than the {} asked for", how_many(from.size(), "dimension"), to.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (i < extra) {
      if (result[i] < 0) fail(fmt::format("new dimension {} needs a size", i));
      continue;
    }
    const Dim size = from[i - extra];
    if (result[i] == -1) result[i] = size;
    if (result[i] < 0) fail(fmt::format("dimension {} has a negative size", i));
    if (size != 1 && result[i] != size) fail(fmt::format("dimension {} has size {}, not 1", i - extra, size));
  }
  return result;
}

Range clip_range(std::optional<Dim> start, std::optional<Dim> end, Dim step, Dim size) {
  if (step < 1) {
    throw OpError(ErrorKind::Value, fmt::format("slice step must be at least 1, it is {}", step), {},
                  step < 0 ? "use `flip` to reverse a dimension" : "");
  }
  const auto clip = [size](Dim value) { return std::clamp<Dim>(value < 0 ? value + size : value, 0, size); };
  Range range{start ? clip(*start) : 0, end ? clip(*end) : size, step, 0};
  range.end = std::max(range.start, range.end);
  range.length = range.end == range.start ? 0 : (range.end - range.start - 1) / step + 1;
  return range;
}

Dim wrap_index(Dim index, int dim, Dim size) {
  if (index < -size || index >= size) rules::index_out_of_bounds(index, dim, size, {0});
  return index < 0 ? index + size : index;
}

namespace {

// Every piece is a tensor, however few elements there are: as many as an argument says may be more than there
// is memory for.
void check_piece_count(Dim count, std::string_view op) {
  constexpr Dim kMost = std::int64_t{1} << 24;
  if (count <= kMost) return;
  throw OpError(ErrorKind::Value,
                fmt::format("{}: {} pieces are too many, at most there are {}", op, count, kMost));
}

}  // namespace

Dims split_lengths(std::span<const Dim> sizes, Dim size) {
  if (sizes.size() == 1) {
    if (sizes[0] < 0 || (sizes[0] == 0 && size != 0)) {
      throw OpError(ErrorKind::Value,
                    fmt::format("split: pieces of {} elements never cover {}", sizes[0], size));
    }
    const Dim count = size == 0 ? 1 : (size - 1) / sizes[0] + 1;
    check_piece_count(count, "split");
    Dims lengths(static_cast<std::size_t>(count), sizes[0]);
    lengths.back() = size - sizes[0] * (count - 1);
    return lengths;
  }
  // No dimension has more than the largest number of elements: pieces that add up to more are as wrong.
  Dim total = 0;
  for (const Dim length : sizes) {
    if (length < 0)
      throw OpError(ErrorKind::Value, fmt::format("split: {} has a negative size", to_string(sizes)));
    const auto sum = add_if_fits(total, length);
    if (!sum) {
      throw OpError(ErrorKind::Shape,
                    fmt::format("split: the pieces {} add up to more than the {} of the dimension",
                                to_string(sizes), size),
                    {0});
    }
    total = *sum;
  }
  if (total != size) {
    throw OpError(
        ErrorKind::Shape,
        fmt::format("split: the pieces {} add up to {}, the dimension has {}", to_string(sizes), total, size),
        {0});
  }
  return rules::to_dims(sizes);
}

Dims chunk_lengths(Dim chunks, Dim size) {
  if (chunks < 1)
    throw OpError(ErrorKind::Value, fmt::format("chunk: the count must be at least 1, it is {}", chunks));
  if (size == 0) {
    check_piece_count(chunks, "chunk");
    return Dims(static_cast<std::size_t>(chunks), 0);
  }
  const Dim length = (size - 1) / chunks + 1;
  return split_lengths(std::span(&length, 1), size);
}

std::vector<Layout> view_layout(const Layout& input, const Attrs& attrs) {
  Layout result{resolve_sizes(attrs.get<Dims>("shape"), input.sizes, "view"), {}, input.offset};
  auto strides = view_strides(input, result.sizes);
  if (!strides) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("view: {} with strides {} has no view of shape {}", to_string(input.sizes),
                              to_string(input.strides), to_string(result.sizes)),
                  {0}, "`reshape` copies where a view is not possible");
  }
  result.strides = std::move(*strides);
  return {result};
}

std::vector<Layout> permute_layout(const Layout& input, const Attrs& attrs) {
  const Dims& dims = attrs.get<Dims>("dims");
  if (static_cast<int>(dims.size()) != input.rank()) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("permute: {} names {}, the tensor has {}", to_string(dims),
                              how_many(dims.size(), "dimension"), input.rank()),
                  {0});
  }
  if (!dims.empty()) wrap_dims(dims, input.rank(), "permute");  // refuses duplicates
  Layout result{{}, {}, input.offset};
  for (const Dim dim : dims) {
    const int from = wrap_dim(dim, input.rank(), "permute");
    result.sizes.push_back(input.sizes[as_index(from)]);
    result.strides.push_back(input.strides[as_index(from)]);
  }
  return {result};
}

std::vector<Layout> transpose_layout(const Layout& input, const Attrs& attrs) {
  const int a = dim_attr(attrs, "dim0", input.rank());
  const int b = dim_attr(attrs, "dim1", input.rank());
  Layout result = input;
  if (input.rank() == 0) return {result};
  std::swap(result.sizes[as_index(a)], result.sizes[as_index(b)]);
  std::swap(result.strides[as_index(a)], result.strides[as_index(b)]);
  return {result};
}

std::vector<Layout> t_layout(const Layout& input, const Attrs&) {
  if (input.rank() > 2) {
    throw OpError(
        ErrorKind::Shape,
        fmt::format("t: expects at most 2 dimensions, {} has {}", to_string(input.sizes), input.rank()), {0},
        "`transpose(x, -2, -1)` swaps the last two");
  }
  Layout result = input;
  std::reverse(result.sizes.begin(), result.sizes.end());
  std::reverse(result.strides.begin(), result.strides.end());
  return {result};
}

std::vector<Layout> expand_layout(const Layout& input, const Attrs& attrs) {
  return {broadcast_layout(input, expand_sizes(input.sizes, attrs.get<Dims>("sizes"), "expand"))};
}

std::vector<Layout> squeeze_layout(const Layout& input, const Attrs& attrs) {
  const Dims* asked = attrs.find<Dims>("dim");
  std::vector<bool> named(as_index(input.rank()), asked == nullptr);
  if (asked && !asked->empty()) {
    for (const Dim dim : wrap_dims(*asked, input.rank(), "squeeze"))
      named[static_cast<std::size_t>(dim)] = true;
  }
  Layout result{{}, {}, input.offset};
  for (std::size_t i = 0; i < input.sizes.size(); ++i) {
    if (named[i] && input.sizes[i] == 1) continue;
    result.sizes.push_back(input.sizes[i]);
    result.strides.push_back(input.strides[i]);
  }
  return {result};
}

std::vector<Layout> unsqueeze_layout(const Layout& input, const Attrs& attrs) {
  const int dim = dim_attr(attrs, "dim", input.rank() + 1);
  Layout result = input;
  const Dim stride = dim < input.rank() ? input.sizes[as_index(dim)] * input.strides[as_index(dim)] : 1;
  result.sizes.insert(result.sizes.begin() + dim, 1);
  result.strides.insert(result.strides.begin() + dim, stride);
  return {result};
}

std::vector<Layout> detach_layout(const Layout& input, const Attrs&) { return {input}; }

std::vector<Layout> slice_layout(const Layout& input, const Attrs& attrs) {
  need_rank(input, "slice");
  const std::size_t dim = as_index(dim_attr(attrs, "dim", input.rank()));
  const Range range = clip_range(optional_int(attrs, "start"), optional_int(attrs, "end"),
                                 int_attr(attrs, "step"), input.sizes[dim]);
  Layout result = input;
  result.sizes[dim] = range.length;
  // An empty range keeps the offset inside of the storage.
  if (range.length > 0) result.offset += range.start * input.strides[dim];
  result.strides[dim] *= std::min(range.step, std::max<Dim>(input.sizes[dim], 1));
  return {result};
}

std::vector<Layout> select_layout(const Layout& input, const Attrs& attrs) {
  need_rank(input, "select");
  const int dim = dim_attr(attrs, "dim", input.rank());
  const Dim index = wrap_index(int_attr(attrs, "index"), dim, input.sizes[as_index(dim)]);
  Layout result = input;
  result.offset += index * input.strides[as_index(dim)];
  result.sizes.erase(result.sizes.begin() + dim);
  result.strides.erase(result.strides.begin() + dim);
  return {result};
}

std::vector<Layout> diagonal_layout(const Layout& input, const Attrs& attrs) {
  if (input.rank() < 2) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("diagonal: expects at least 2 dimensions, {} has {}", to_string(input.sizes),
                              input.rank()),
                  {0});
  }
  const int a = dim_attr(attrs, "dim1", input.rank());
  const int b = dim_attr(attrs, "dim2", input.rank());
  if (a == b) throw OpError(ErrorKind::Value, fmt::format("diagonal: dim1 and dim2 are both {}", a));
  const Dim shift = int_attr(attrs, "offset");
  const Dim rows = input.sizes[as_index(a)] + std::min<Dim>(shift, 0);
  const Dim columns = input.sizes[as_index(b)] - std::max<Dim>(shift, 0);
  const Dim length = std::max<Dim>(min(rows, columns), 0);
  Layout result{{}, {}, input.offset};
  if (length > 0)
    result.offset += shift >= 0 ? shift * input.strides[as_index(b)] : -shift * input.strides[as_index(a)];
  for (int i = 0; i < input.rank(); ++i) {
    if (i == a || i == b) continue;
    result.sizes.push_back(input.sizes[as_index(i)]);
    result.strides.push_back(input.strides[as_index(i)]);
  }
  result.sizes.push_back(length);
  result.strides.push_back(input.strides[as_index(a)] + input.strides[as_index(b)]);
  return {result};
}

std::vector<Layout> split_layout(const Layout& input, const Attrs& attrs) {
  need_rank(input, "split");
  const int dim = dim_attr(attrs, "dim", input.rank());
  return pieces(input, dim, split_lengths(attrs.get<Dims>("split_size"), input.sizes[as_index(dim)]));
}

std::vector<Layout> chunk_layout(const Layout& input, const Attrs& attrs) {
  need_rank(input, "chunk");
  const int dim = dim_attr(attrs, "dim", input.rank());
  return pieces(input, dim, chunk_lengths(int_attr(attrs, "chunks"), input.sizes[as_index(dim)]));
}

std::vector<Layout> unbind_layout(const Layout& input, const Attrs& attrs) {
  need_rank(input, "unbind");
  const int dim = dim_attr(attrs, "dim", input.rank());
  check_piece_count(input.sizes[as_index(dim)], "unbind");
  std::vector<Layout> layouts;
  for (Dim i = 0; i < input.sizes[as_index(dim)]; ++i) {
    Layout piece = input;
    piece.offset += i * input.strides[as_index(dim)];
    piece.sizes.erase(piece.sizes.begin() + dim);
    piece.strides.erase(piece.strides.begin() + dim);
    layouts.push_back(std::move(piece));
  }
  return layouts;
}

std::vector<Layout> as_strided_layout(const Layout& input, const Attrs& attrs) {
  const Dims& sizes = attrs.get<Dims>("size");
  const Dims& strides = attrs.get<Dims>("stride");
  if (sizes.size() != strides.size()) {
    throw OpError(ErrorKind::Shape, fmt::format("as_strided: {} but {}", how_many(sizes.size(), "size"),
                                                how_many(strides.size(), "stride")));
  }
  const Dim offset = optional_int(attrs, "storage_offset").value_or(input.offset);
  const auto negative = [](Dim value) { return value < 0; };
  if (offset < 0 || std::any_of(strides.begin(), strides.end(), negative)) {
    throw OpError(ErrorKind::Value, fmt::format("as_strided: strides {} and offset {} must not be negative",
                                                to_string(strides), offset));
  }
  count_elements(sizes);
  std::optional<Dim> reach = add_if_fits(offset, 1);  // behind the last element
  for (std::size_t i = 0; i < sizes.size() && reach; ++i) {
    if (sizes[i] <= 1) continue;
    const auto along = multiply_if_fits(sizes[i] - 1, strides[i]);
    reach = along ? add_if_fits(*reach, *along) : std::nullopt;
  }
  if (!reach) {
    throw OpError(ErrorKind::Overflow,
                  fmt::format("as_strided: sizes {} with strides {} from {} on reach further than memory can",
                              to_string(sizes), to_string(strides), offset));
  }
  return {Layout{sizes, strides, offset}};
}

std::vector<Layout> unfold_layout(const Layout& input, const Attrs& attrs) {
  const int dim = dim_attr(attrs, "dimension", input.rank());
  const Dim size = int_attr(attrs, "size");
  const Dim step = int_attr(attrs, "step");
  const Dim length = input.rank() == 0 ? 1 : input.sizes[as_index(dim)];
  if (size < 0 || size > length || step < 1) {
    throw OpError(ErrorKind::Value,
                  fmt::format("unfold: windows of {} with step {} do not fit dimension {} of size {}", size,
                              step, dim, length),
                  {0});
  }
  Layout result = input;
  const Dim stride = input.rank() == 0 ? 1 : input.strides[as_index(dim)];
  if (input.rank() > 0) {
    result.sizes[as_index(dim)] = (length - size) / step + 1;
    // The stride of one window alone is never taken, however large the step is.
    result.strides[as_index(dim)] = stride * std::min(step, std::max<Dim>(length, 1));
  }
  result.sizes.push_back(size);
  result.strides.push_back(stride);
  return {result};
}

}  // namespace kiln
