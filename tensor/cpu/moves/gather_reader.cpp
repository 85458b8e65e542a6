#include "tensor/cpu/moves/gather_reader.h"

#include <algorithm>
#include <cstring>

#include "tensor/cpu/element_size.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/copy_bytes.h"
#include "tensor/cpu/moves/offsets.h"
#include "tensor/integers.h"

namespace kiln::cpu {
namespace {

template <class T>
const T* elements(const Tensor& x) {
  return reinterpret_cast<const T*>(x.raw());
}
std::int64_t item_of(const Tensor& x) { return static_cast<std::int64_t>(size_of(x.dtype())); }

class PlacesReader final : public GatherReader {
 public:
  PlacesReader(Tensor x, Places places)
      : x_(std::move(x)),
        places_(std::move(places)),
        middle_(places_.middle.data<std::int64_t>()),
        rows_(places_.middle.numel()),
        inner_(static_cast<std::int64_t>(places_.inner.size())) {}

  std::int64_t together(std::int64_t at) const override { return places_.dense ? inner_ - at % inner_ : 0; }

 private:
  std::int64_t offset(std::int64_t row) const {
    return places_.outer[as_index(row / rows_)] + middle_[row % rows_] * places_.step;
  }
  const std::byte* place(std::int64_t at) const override {
    return x_.raw() + (offset(at / inner_) + at % inner_) * item_of(x_);
  }
  void copy(std::int64_t at, std::int64_t count, std::byte* to) const override {
    visit_size(x_.dtype(), [&]<class T>() {
      inner_ == 1 ? single(at, count, reinterpret_cast<T*>(to)) : rows(at, count, reinterpret_cast<T*>(to));
    });
  }
  template <class T>
  void rows(std::int64_t at, std::int64_t count, T* to) const {
    while (count > 0) {
      const std::int64_t first = at % inner_, length = std::min(count, inner_ - first);
      const T* const from = elements<T>(x_) + offset(at / inner_);
      if (places_.dense) {
        copy_bytes(to, from + first, length * static_cast<std::int64_t>(sizeof(T)));
      } else {
        for (std::int64_t i = 0; i < length; ++i) to[i] = from[places_.inner[as_index(first + i)]];
      }
      at += length, to += length, count -= length;
    }
  }
  // One element for each place of the index.
  template <class T>
  void single(std::int64_t at, std::int64_t count, T* to) const {
    while (count > 0) {
      const std::int64_t first = at % rows_, length = std::min(count, rows_ - first);
      const T* const from = elements<T>(x_) + places_.outer[as_index(at / rows_)] + places_.inner[0];
      const std::int64_t* const place = middle_ + first;
      const std::int64_t step = places_.step;
      for (std::int64_t i = 0; i < length; ++i) to[i] = from[place[i] * step];
      at += length, to += length, count -= length;
    }
  }

  Tensor x_;
  Places places_;
  const std::int64_t* middle_;
  std::int64_t rows_, inner_;
};

class AlongReader final : public GatherReader {
 public:
  AlongReader(Tensor x, int dim, Tensor index) : x_(std::move(x)), index_(std::move(index)) {
    const std::size_t last = index_.rank() == 0 ? 0 : static_cast<std::size_t>(index_.rank()) - 1;
    if (index_.rank() > 0) columns_ = index_.sizes().back();
    if (x_.rank() > 0) {
      step_ = x_.strides()[static_cast<std::size_t>(dim)];
      along_ = static_cast<std::size_t>(dim) == last ? 0 : x_.strides().back();
    }
    IntDims strides = x_.strides();
    if (x_.rank() > 0) strides[static_cast<std::size_t>(dim)] = 0;
    const IntDims rows(index_.sizes().begin(), index_.sizes().begin() + static_cast<std::ptrdiff_t>(last));
    bases_ = all_offsets(rows, std::span<const std::int64_t>(strides).first(rows.size()));
  }

  std::int64_t together(std::int64_t) const override { return 0; }

 private:
  const std::byte* place(std::int64_t) const override { return nullptr; }
  void copy(std::int64_t at, std::int64_t count, std::byte* to) const override {
    visit_size(x_.dtype(), [&]<class T>() { lines(at, count, reinterpret_cast<T*>(to)); });
  }
  template <class T>
  void lines(std::int64_t at, std::int64_t count, T* to) const {
    const auto* const places = index_.data<std::int64_t>();
    while (count > 0) {
      const std::int64_t first = at % columns_, length = std::min(count, columns_ - first);
      const T* const from = elements<T>(x_) + bases_[as_index(at / columns_)] + first * along_;
      const std::int64_t* const place = places + at;
      const std::int64_t step = step_, along = along_;
      for (std::int64_t i = 0; i < length; ++i) to[i] = from[place[i] * step + i * along];
      at += length, to += length, count -= length;
    }
  }

  Tensor x_, index_;
  std::int64_t columns_ = 1, step_ = 1, along_ = 0;
  std::vector<std::int64_t> bases_;  // of lines along the last dimension
};

class SegmentsReader final : public GatherReader {
 public:
  SegmentsReader(std::vector<Segment> segments, Tensor filler)
      : segments_(std::move(segments)), filler_(std::move(filler)) {
    for (const Segment& each : segments_) {
      begins_.push_back(line_);
      line_ += each.length;
    }
  }

  std::int64_t together(std::int64_t at) const override {
    const std::size_t k = segment_at(at % line_);
    return offset(segments_[k], at / line_) < 0 ? 0 : begins_[k] + segments_[k].length - at % line_;
  }

 private:
  // A segment without elements begins where the next one does.
  std::size_t segment_at(std::int64_t place) const {
    return static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), place) -
                                    begins_.begin()) -
           1;
  }
  static std::int64_t offset(const Segment& segment, std::int64_t line) {
    if (!segment.source) return -1;
    return segment.offsets.empty() ? line * segment.stride : segment.offsets[as_index(line)];
  }
  const std::byte* place(std::int64_t at) const override {
    const std::size_t k = segment_at(at % line_);
    const Segment& segment = segments_[k];
    return segment.source.raw() +
           (offset(segment, at / line_) + at % line_ - begins_[k]) * item_of(segment.source);
  }
  void copy(std::int64_t at, std::int64_t count, std::byte* to) const override {
    visit_size(filler_.dtype(), [&]<class T>() { lines(at, count, reinterpret_cast<T*>(to)); });
  }
  // Of whole lines segment by segment, as these may be short.
  template <class T>
  void lines(std::int64_t at, std::int64_t count, T* to) const {
    if (const std::int64_t first = at % line_; first > 0) {
      const std::int64_t length = std::min(count, line_ - first);
      part(at / line_, first, first + length, to);
      at += length, to += length, count -= length;
    }
    const std::int64_t whole = count / line_, line = at / line_;
    for (std::size_t k = 0; k < segments_.size(); ++k) {
      const Segment& segment = segments_[k];
      if (segment.length == 1 && segment.source && segment.offsets.empty()) {
        const T* const from = elements<T>(segment.source) + line * segment.stride;
        for (std::int64_t i = 0; i < whole; ++i) to[i * line_ + begins_[k]] = from[i * segment.stride];
        continue;
      }
      for (std::int64_t i = 0; i < whole; ++i)
        piece(segment, line + i, 0, segment.length, to + i * line_ + begins_[k]);
    }
    if (count % line_ > 0) part(line + whole, 0, count % line_, to + whole * line_);
  }
  template <class T>
  void part(std::int64_t line, std::int64_t first, std::int64_t end, T* to) const {
    for (std::size_t k = 0; k < segments_.size(); ++k) {
      const std::int64_t from = std::max(first, begins_[k]);
      const std::int64_t length = std::min(end, begins_[k] + segments_[k].length) - from;
      if (length > 0) piece(segments_[k], line, from - begins_[k], length, to + from - first);
    }
  }
  // So few elements are not worth a call of a library.
  template <class T>
  void piece(const Segment& segment, std::int64_t line, std::int64_t first, std::int64_t length,
             T* to) const {
    constexpr std::int64_t kFew = 16;
    const std::int64_t begin = offset(segment, line);
    if (begin < 0) {
      const T filler = *elements<T>(filler_);
      for (std::int64_t i = 0; i < length; ++i) to[i] = filler;
      return;
    }
    const T* const from = elements<T>(segment.source) + begin + first;
    if (length >= kFew) {
      copy_bytes(to, from, length * static_cast<std::int64_t>(sizeof(T)));
    } else {
      for (std::int64_t i = 0; i < length; ++i) to[i] = from[i];
    }
  }

  std::vector<Segment> segments_;
  std::vector<std::int64_t> begins_;  // within a line
  std::int64_t line_ = 0;
  Tensor filler_;
};

}  // namespace

std::unique_ptr<const GatherReader> places_reader(Tensor x, Places places) {
  return std::make_unique<const PlacesReader>(std::move(x), std::move(places));
}

std::unique_ptr<const GatherReader> along_reader(Tensor x, int dim, Tensor index) {
  return std::make_unique<const AlongReader>(std::move(x), dim, std::move(index));
}

Segment segment_of(const Tensor& source, std::size_t dim) {
  Segment made;
  const auto tail = static_cast<std::ptrdiff_t>(dim);
  const Layout lies{{source.sizes().begin() + tail, source.sizes().end()},
                    {source.strides().begin() + tail, source.strides().end()},
                    0};
  made.length = count_elements(lies.sizes);
  made.source = is_contiguous(lies) ? source : contiguous_copy(source, source.dtype());
  const auto sizes = ints(source.sizes()).first(dim);
  const auto strides = ints(made.source.strides()).first(dim);
  if (!one_stride(sizes, strides, made.stride)) made.offsets = all_offsets(sizes, strides);
  return made;
}

std::unique_ptr<const GatherReader> segments_reader(std::vector<Segment> segments, Tensor filler) {
  return std::make_unique<const SegmentsReader>(std::move(segments), std::move(filler));
}

}  // namespace kiln::cpu
