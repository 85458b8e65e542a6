// What lies in memory in another order, or with zeros in between: reversed dimensions and triangles of
// matrices.
#include <algorithm>
#include <bit>
#include <cstring>

#include "tensor/cpu/kernels.h"
#include "tensor/cpu/moves/gather_reader.h"

namespace kiln::cpu {
namespace {

// Elements of a tensor line by line, along its last dimension; strides may be negative.
class Lines {
 public:
  Lines(Tensor x, Layout layout)
      : x_(std::move(x)),
        layout_(std::move(layout)),
        item_(static_cast<std::int64_t>(size_of(x_.dtype()))),
        load_(convert_table().load_raw[std::countr_zero(size_of(x_.dtype()))]) {}

  std::int64_t item() const { return item_; }
  std::int64_t length() const { return layout_.sizes.back(); }
  std::int64_t step() const { return layout_.strides.back(); }
  const std::byte* place(std::int64_t line, std::int64_t first) const {
    std::int64_t at = layout_.offset + first * step();
    for (std::size_t d = layout_.sizes.size() - 1; d-- > 0; line /= layout_.sizes[d])
      at += line % layout_.sizes[d] * layout_.strides[d];
    return x_.storage()->data() + at * item_;
  }
  void copy(std::int64_t line, std::int64_t first, std::int64_t count, std::byte* to) const {
    if (count > 0) load_(place(line, first), step(), to, count);
  }

 private:
  Tensor x_;
  IntLayout layout_;
  std::int64_t item_;
  LoadFn load_;
};

// Calls f(line, first, count, to) for each stretch of a line.
template <class F>
void each_stretch(std::int64_t at, std::int64_t count, std::int64_t length, std::int64_t item, std::byte* to,
                  F&& f) {
  while (count > 0) {
    const std::int64_t first = at % length, part = std::min(count, length - first);
    f(at / length, first, part, to);
    at += part, count -= part, to += part * item;
  }
}

class ReversedReader final : public GatherReader {
 public:
  explicit ReversedReader(Lines lines) : lines_(std::move(lines)) {}

  std::int64_t together(std::int64_t at) const override {
    return lines_.step() == 1 ? lines_.length() - at % lines_.length() : 0;
  }

 private:
  const std::byte* place(std::int64_t at) const override {
    return lines_.place(at / lines_.length(), at % lines_.length());
  }
  void copy(std::int64_t at, std::int64_t count, std::byte* to) const override {
    each_stretch(at, count, lines_.length(), lines_.item(), to,
                 [this](std::int64_t line, std::int64_t first, std::int64_t part, std::byte* out) {
                   lines_.copy(line, first, part, out);
                 });
  }

  Lines lines_;
};

class TriangleReader final : public GatherReader {
 public:
  TriangleReader(Lines lines, std::int64_t rows, std::int64_t diagonal, bool lower)
      : lines_(std::move(lines)), rows_(rows), diagonal_(diagonal), lower_(lower) {}

  std::int64_t together(std::int64_t) const override { return 0; }

 private:
  const std::byte* place(std::int64_t) const override { return nullptr; }
  void copy(std::int64_t at, std::int64_t count, std::byte* to) const override {
    each_stretch(at, count, lines_.length(), lines_.item(), to,
                 [this](std::int64_t line, std::int64_t first, std::int64_t part, std::byte* out) {
                   stretch(line, first, part, out);
                 });
  }
  void stretch(std::int64_t line, std::int64_t first, std::int64_t count, std::byte* to) const {
    // Columns up to this one belong to the lower triangle.
    const std::int64_t edge =
        std::clamp<std::int64_t>(line % rows_ + diagonal_ + (lower_ ? 1 : 0), first, first + count) - first;
    const std::int64_t begin = lower_ ? 0 : edge, end = lower_ ? edge : count;
    std::memset(to, 0, static_cast<std::size_t>(begin * lines_.item()));
    lines_.copy(line, first + begin, end - begin, to + begin * lines_.item());
    std::memset(to + end * lines_.item(), 0, static_cast<std::size_t>((count - end) * lines_.item()));
  }

  Lines lines_;
  std::int64_t rows_, diagonal_;
  bool lower_;
};

}  // namespace

std::unique_ptr<const GatherReader> reversed_reader(Tensor x, std::span<const std::int64_t> dims) {
  Layout layout = x.layout();
  if (layout.sizes.empty()) layout = {IntDims{1}, IntDims{1}, layout.offset};
  for (const std::int64_t dim : dims) {
    const auto d = static_cast<std::size_t>(dim);
    layout.offset += std::max<std::int64_t>(layout.sizes[d] - 1, 0) * layout.strides[d];
    layout.strides[d] = -layout.strides[d];
  }
  return std::make_unique<const ReversedReader>(Lines(std::move(x), std::move(layout)));
}

std::unique_ptr<const GatherReader> triangle_reader(Tensor x, std::int64_t diagonal, bool lower) {
  const std::int64_t rows = x.size(x.rank() - 2);
  Layout layout = x.layout();
  return std::make_unique<const TriangleReader>(Lines(std::move(x), std::move(layout)), rows, diagonal,
                                                lower);
}

}  // namespace kiln::cpu
