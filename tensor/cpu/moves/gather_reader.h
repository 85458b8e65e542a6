// Owns gather loads: reading the elements that an op selects from tensors in memory (rows that an index
// names, joined tensors) a stretch at a time, for readers that go through them once and need no tensor of
// them.
#pragma once

#include <memory>
#include <vector>

#include "tensor/cpu/moves/places.h"

namespace kiln::cpu {

// The elements of the op's result, row-major. Many threads may read at once.
class GatherReader {
 public:
  virtual ~GatherReader() = default;

  // How many of the elements from `at` on are contiguous in memory; 0 where they are not in memory.
  virtual std::int64_t together(std::int64_t at) const = 0;
  // Elements [at, at + count): their place in memory if they are contiguous, else `to`, where they are
  // copied.
  const std::byte* read(std::int64_t at, std::int64_t count, std::byte* to) const {
    if (count > 0 && together(at) >= count) return place(at);
    if (count > 0) copy(at, count, to);
    return to;
  }

 private:
  virtual const std::byte* place(std::int64_t at) const = 0;
  virtual void copy(std::int64_t at, std::int64_t count, std::byte* to) const = 0;
};

// What `take` would give.
std::unique_ptr<const GatherReader> places_reader(Tensor x, Places places);
// What `gather` would give: the index is contiguous, i64 and checked.
std::unique_ptr<const GatherReader> along_reader(Tensor x, int dim, Tensor index);

// What `flip` would give; `dims` are wrapped.
std::unique_ptr<const GatherReader> reversed_reader(Tensor x, std::span<const std::int64_t> dims);
// What `tril` or `triu` would give.
std::unique_ptr<const GatherReader> triangle_reader(Tensor x, std::int64_t diagonal, bool lower);

// Lines of equal length, each of segments that follow one another. `source`: the tensor whose elements,
// `length` of them together, begin at `offsets` (by line, -1 for none) or at every `stride`-th one; none for
// a filler.
struct Segment {
  std::int64_t length = 0;
  Tensor source{};
  std::vector<std::int64_t> offsets{};
  std::int64_t stride = 0;
};
// One segment of each line: the elements of `source` from dimension `dim` on, which lie together, or are laid
// out so; dimensions before it are lines.
Segment segment_of(const Tensor& source, std::size_t dim);
// `filler`: one element of the dtype, for segments without a source.
std::unique_ptr<const GatherReader> segments_reader(std::vector<Segment> segments, Tensor filler);

}  // namespace kiln::cpu
