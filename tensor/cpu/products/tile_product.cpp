#include "tensor/cpu/products/tile_product.h"

#include <algorithm>
#include <atomic>

#include "tensor/cpu/isa.h"
#include "tensor/cpu/products/tile_kernels.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"
#include "tensor/storage.h"

namespace kiln::cpu::tiles {
namespace {

// Multiply-adds below which f32 is as fast, and below which another thread is not worth it: tiles do sixteen
// times as many in the time.
constexpr std::int64_t kLeastWork = 1 << 15, kTileGrain = 1 << 21, kVectorGrain = 1 << 17;
std::int64_t thread_grain() { return unit() == Unit::Tiles ? kTileGrain : kVectorGrain; }
constexpr std::int64_t kLayGrain = 1 << 15;  // elements to lay out

// The depth in parts, each of which is multiplied before the next.
struct Depth {
  std::int64_t elements, steps, parts;

  Depth(std::int64_t k, std::int64_t most_steps)
      : elements(k), steps(tile_steps(k)), parts(ceil_divide(steps, most_steps)) {}
  std::int64_t first(std::int64_t part) const { return steps * part / parts; }
  std::int64_t count(std::int64_t part) const { return first(part + 1) - first(part); }
  std::int64_t elements_of(std::int64_t part) const {
    return std::min(elements - first(part) * kTileDepth, count(part) * kTileDepth);
  }
};

// One operand of every product of a call: lines in panels, panels in blocks as even as can be.
struct Side {
  std::int64_t lines, panels, blocks;

  Side(std::int64_t count, std::int64_t most)
      : lines(count), panels(ceil_divide(count, kPanel)), blocks(ceil_divide(panels, most)) {}
  int count(std::int64_t panel) const {
    return static_cast<int>(std::min<std::int64_t>(kPanel, lines - panel * kPanel));
  }
  int tiles(std::int64_t panel) const { return ceil_divide(count(panel), kSide); }
  std::int64_t begin(std::int64_t block) const { return panels * block / blocks; }
  std::int64_t longest_block() const { return ceil_divide(panels, blocks); }
};

// Panels from `first` on that are laid out: part by part of the depth, of each all panels.
struct Laid {
  BFloat16* data;
  std::int64_t first, panels;
};

// What the products of a call share. Of the shorter operand all is laid out first, once; of the other one
// each task lays out a block, which is in the nearest caches then, and multiplies it.
template <class T>
class Job {
 public:
  Job(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k)
      : products_(products),
        depth_(k, kMostSteps),
        left_is_shared_(m <= kBlock * kPanel && n > m),
        left_(m, left_is_shared_ ? kBlock : most_of_own(m)),
        right_(n, left_is_shared_ ? most_of_own(n) : kBlock) {}

  bool multiply() {
    return static_cast<std::int64_t>(products_.size()) < kManyProducts ? one_after_the_other()
                                                                       : side_by_side();
  }

 private:
  // Panels of a block, and steps of depth at a time: what is laid out of a block stays in the second cache.
  static constexpr std::int64_t kBlock = 8, kMostSteps = 64 / kParts<T>;
  // Elements that stay in the second cache; processors with tiles have larger ones.
  static std::int64_t near() { return unit() == Unit::Tiles ? 1 << 19 : 1 << 17; }
  static constexpr std::int64_t kStepElements = 2 * kParts<T> * kTileElements;  // of a panel

  // Panels of a block that a task lays out: several tasks, each of which stays in the second cache.
  std::int64_t most_of_own(std::int64_t lines) const {
    const std::int64_t most = std::max<std::int64_t>(1, near() / (depth_.steps * kStepElements));
    return std::clamp<std::int64_t>(ceil_divide(lines, kPanel) / 4, 1, std::min(kBlock, most));
  }

  // Threads share a product.
  bool one_after_the_other() {
    const std::int64_t work = left_.lines * right_.lines * depth_.elements;
    const std::int64_t wanted = 2 * num_threads();
    const std::int64_t groups =
        std::clamp<std::int64_t>(ceil_divide(wanted, own().blocks), 1, shared().blocks);
    const std::int64_t tasks = own().blocks * groups;
    const std::int64_t pieces = std::clamp(wanted, shared().blocks, shared().panels);  // to lay out
    std::atomic<bool> is_laid = true;
    const Memory memory = allocate(shared().panels);
    const Laid all = laid_in(memory, 0, shared().panels);
    for (const Product<T>& product : products_) {
      parallel_for(pieces, ceil_divide(kLayGrain * pieces, shared().lines * depth_.elements),
                   [&](std::int64_t begin, std::int64_t end) {
                     if (!lay(shared(), lines_of(product, left_is_shared_), shared().panels * begin / pieces,
                              shared().panels * end / pieces, all))
                       is_laid = false;
                   });
      parallel_for(tasks, thread_grain() * tasks / work, [&](std::int64_t begin, std::int64_t end) {
        const Thread thread(*this);
        for (std::int64_t task = begin; task < end && is_laid; ++task) {
          const std::int64_t group = task % groups;
          if (!multiply_own(product, task / groups, all, shared().blocks * group / groups,
                            shared().blocks * (group + 1) / groups, thread))
            is_laid = false;
        }
      });
    }
    return is_laid;
  }

  // Each thread has products of its own.
  bool side_by_side() {
    const std::int64_t work = left_.lines * right_.lines * depth_.elements;
    std::atomic<bool> is_laid = true;
    parallel_for(static_cast<std::int64_t>(products_.size()), thread_grain() / work,
                 [&](std::int64_t begin, std::int64_t end) {
                   const Thread thread(*this);
                   const Memory memory = allocate(shared().panels);
                   const Laid all = laid_in(memory, 0, shared().panels);
                   for (std::int64_t which = begin; which < end && is_laid; ++which) {
                     const Product<T>& product = products_[static_cast<std::size_t>(which)];
                     if (!lay(shared(), lines_of(product, left_is_shared_), 0, shared().panels, all))
                       is_laid = false;
                     for (std::int64_t block = 0; block < own().blocks && is_laid; ++block)
                       if (!multiply_own(product, block, all, 0, shared().blocks, thread)) is_laid = false;
                   }
                 });
    return is_laid;
  }

  const Side& shared() const { return left_is_shared_ ? left_ : right_; }
  const Side& own() const { return left_is_shared_ ? right_ : left_; }

  using Memory = Ref<Buffer>;
  Memory allocate(std::int64_t panels) const {
    const std::int64_t elements = panels * depth_.steps * kStepElements;
    return Buffer::allocate(static_cast<std::size_t>(elements) * sizeof(BFloat16), Device{});
  }
  static Laid laid_in(const Memory& memory, std::int64_t first, std::int64_t panels) {
    return {reinterpret_cast<BFloat16*>(memory->data()), first, panels};
  }
  // What a thread has while it multiplies: tiles, a block of its operand, and the sums of a block of the
  // result.
  struct Thread {
    explicit Thread(const Job& job)
        : own(job.allocate(job.own().longest_block())),
          memory(Buffer::allocate(kBlock * kPanel * kBlock * kPanel * sizeof(float), Device{})) {}
    TilesInUse tiles;
    Memory own, memory;
    float* sums() const { return reinterpret_cast<float*>(memory->data()); }
  };

  // Where a part of a panel is.
  BFloat16* place(const Laid& laid, std::int64_t panel, std::int64_t part) const {
    const std::int64_t steps = depth_.first(part) * laid.panels + depth_.count(part) * (panel - laid.first);
    return laid.data + steps * kStepElements;
  }

  // An operand as a matrix whose rows are its lines.
  static MatrixView<T> lines_of(const Product<T>& product, bool left) {
    return left ? product.a : MatrixView<T>{product.b.data, product.b.column, product.b.row};
  }
  // Panels [begin, end). Where the elements of a line are not contiguous, those of neighbours are read
  // together.
  bool lay(const Side& side, const MatrixView<T>& from, std::int64_t begin, std::int64_t end,
           const Laid& laid) const {
    bool is_laid = true;
    for (std::int64_t part = 0; part < depth_.parts; ++part) {
      const std::int64_t some = from.column == 1 ? depth_.count(part) : 1;
      for (std::int64_t step = 0; step < depth_.count(part); step += some) {
        const std::int64_t p = (depth_.first(part) + step) * kTileDepth;
        const std::int64_t count = std::min(some * kTileDepth, depth_.elements - p);
        for (std::int64_t panel = begin; panel < end; ++panel) {
          const Lines<T> lines{from.data + panel * kPanel * from.row + p * from.column, from.row, from.column,
                               side.count(panel)};
          BFloat16* const to = place(laid, panel, part) + step * kParts<T> * lines.tiles() * kTileElements;
          is_laid &= &side == &left_ ? lay_left(lines, count, to) : lay_right(lines, count, to);
        }
      }
    }
    return is_laid;
  }

  // A block of what each task lays out, by blocks [begin, end) of what is shared.
  bool multiply_own(const Product<T>& product, std::int64_t block, const Laid& all, std::int64_t begin,
                    std::int64_t end, const Thread& thread) const {
    const std::int64_t first = own().begin(block), last = own().begin(block + 1);
    const Laid mine = laid_in(thread.own, first, last - first);
    if (!lay(own(), lines_of(product, !left_is_shared_), first, last, mine)) return false;
    for (std::int64_t i = begin; i < end; ++i) {
      check_interrupt();
      if (left_is_shared_)
        multiply_block(product, i, block, all, mine, thread);
      else
        multiply_block(product, block, i, mine, all, thread);
    }
    return true;
  }

  void multiply_block(const Product<T>& product, std::int64_t row, std::int64_t column, const Laid& laid_left,
                      const Laid& laid_right, const Thread& thread) const {
    const std::int64_t top = left_.begin(row), bottom = left_.begin(row + 1);
    const std::int64_t left = right_.begin(column), right = right_.begin(column + 1);
    // While rows go by, the columns that come next are asked for, each row an equal part of them.
    const std::int64_t asked = is_near() ? 0 : ceil_divide(kStepBytes, (bottom - top) * 64) * 64;
    for (std::int64_t part = 0; part < depth_.parts; ++part) {
      const std::int64_t steps = depth_.count(part), panel = steps * kStepElements;
      const bool is_last = part + 1 == depth_.parts;
      const BFloat16* b = place(laid_right, left, part);
      for (std::int64_t j = left; j < right; ++j, b += panel) {
        const bool is_end = j + 1 == laid_right.first + laid_right.panels;
        const std::int64_t bytes = is_end ? 0 : asked;
        const BFloat16* next = is_end ? b : b + panel;
        const BFloat16* a = place(laid_left, top, part);
        for (std::int64_t i = top; i < bottom; ++i, a += panel) {
          // Sums of a part are kept until the next one; those of all the depth are rounded at once.
          const std::int64_t sum = depth_.parts == 1 ? 0 : (i - top) * kBlock + j - left;
          float* const sums = thread.sums() + sum * kPanel * kPanel;
          PanelProduct of{a,    b,        left_.tiles(i), right_.tiles(j),        steps,
                          sums, part > 0, next,           static_cast<int>(bytes)};
          of.rows = left_.count(i), of.columns = right_.count(j);
          of.depth = depth_.elements_of(part);
          T* const c = product.c + i * kPanel * right_.lines + j * kPanel;
          if constexpr (kParts<T> == 1) {
            of.to = is_last && by_vectors_ ? c : nullptr;
            of.to_row = right_.lines;
          }
          multiply_(of);
          next += steps * bytes / static_cast<std::int64_t>(sizeof(BFloat16));
          if (is_last && !by_vectors_) round_sums(sums, left_.count(i), right_.count(j), c, right_.lines);
        }
      }
    }
  }
  // What is laid out of a product is still in the second cache.
  bool is_near() const { return (left_.panels + right_.panels) * depth_.steps * kStepElements <= near(); }

  static constexpr std::int64_t kStepBytes = kStepElements * static_cast<std::int64_t>(sizeof(BFloat16));

  std::span<const Product<T>> products_;
  bool by_vectors_ = unit() == Unit::Vectors;  // they round sums while those are in registers
  void (*multiply_)(const PanelProduct&) = by_vectors_      ? &multiply_by_vectors
                                           : kParts<T> == 1 ? &multiply_whole
                                                            : &multiply_halves;
  Depth depth_;
  bool left_is_shared_;
  Side left_, right_;
};

}  // namespace

// By vectors, the four products that one of f16 is take longer than in f32, and laying a matrix out for fewer
// rows longer than widening it.
template <class T>
bool pays(std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kLeastRows = 4;
  const bool is_there =
      unit() == Unit::Tiles || (unit() == Unit::Vectors && kParts<T> == 1 && m >= kLeastRows);
  return is_there && count * m * n * k >= kLeastWork && isa() == Isa::V4;
}

template <class T>
bool multiply(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k) {
  return Job<T>(products, m, n, k).multiply();
}

template bool pays<BFloat16>(std::int64_t, std::int64_t, std::int64_t, std::int64_t);
template bool pays<Half>(std::int64_t, std::int64_t, std::int64_t, std::int64_t);
template bool multiply<BFloat16>(std::span<const Product<BFloat16>>, std::int64_t, std::int64_t,
                                 std::int64_t);
template bool multiply<Half>(std::span<const Product<Half>>, std::int64_t, std::int64_t, std::int64_t);

}  // namespace kiln::cpu::tiles
