#include "tensor/cpu/panel_product.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "tensor/cpu/panel_kernels.h"
#include "tensor/cpu/row_blocks.h"
#include "tensor/memory.h"
#include "tensor/parallel.h"

namespace kiln::cpu::panels {
namespace {

// All numbers here were measured on one processor (docs/performance.md).

// Multiply-adds up to which elements are added up in turn, on any processor (tensor/cpu/gemm.cpp), or a
// library is as fast.
template <class T>
constexpr std::int64_t kLeastWork = sizeof(T) == 4 ? 1 << 15 : 100'000;
// Likewise sums so short, for what takes longest is the result then; and of a result that stays in the
// nearest caches.
template <class T>
constexpr std::int64_t kLeastDepth = sizeof(T) == 4 ? 48 : 17;
constexpr std::int64_t kLeastDepthNear = 16, kNearResult = 1 << 14;
// Rows below which columns that each lie in one piece are read where they are faster than laid out.
constexpr std::int64_t kLeastRows = 8;
// Multiply-adds, and elements laid out, below which another thread is not worth it.
constexpr std::int64_t kThreadGrain = 1 << 16, kLayGrain = 1 << 15;
constexpr std::int64_t kMany = 16;  // products of one call: each thread does several, whole

// Steps of depth that are multiplied before the next ones: what is laid out of a block stays in the second
// cache. Fewer where a panel is read once, from far apart.
constexpr std::int64_t kMostDepth = 384, kMostDepthOnce = 64;
// Rows of a block, in bytes of one step; twice as many where rows are read in place, since those are few.
constexpr std::int64_t kMostRowBytes = 768;
constexpr std::int64_t kMostColumnPanels = 8;  // that a task lays out before it multiplies them
// Rows that each lie in one piece are laid out only for so many columns: it takes a twentieth of the time of
// 512. Not laid out, and a power of two apart, they push each other out of the second cache.
constexpr std::int64_t kManyColumns = 768;
// So few rows are not worth laying columns out for all of them first; a few more are not where so few bytes
// are between two steps that columns are read fast in any order.
constexpr std::int64_t kFewRows = 256, kSomeRows = 512, kNearBytes = 2048;
// A part so short takes less time than its result does to be written, unless that is row by row.
constexpr std::int64_t kShallow = 64;
constexpr std::int64_t kMostShared = 1 << 22;  // elements laid out at a time for all tasks

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct Range {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
  // Part i of so many, as even as can be.
  Range part(std::int64_t i, std::int64_t parts) const {
    return {begin + size() * i / parts, begin + size() * (i + 1) / parts};
  }
};

// The depth in parts, of whole runs but for the last.
struct Depth {
  std::int64_t steps, runs, parts;

  Depth(std::int64_t k, std::int64_t most)
      : steps(k), runs(ceil_divide(k, kPanelRun)), parts(ceil_divide(k, most)) {}
  Range part(std::int64_t i) const {
    const Range some = Range{0, runs}.part(i, parts);
    return {some.begin * kPanelRun, std::min(steps, some.end * kPanelRun)};
  }
  std::int64_t longest() const { return std::min(steps, ceil_divide(runs, parts) * kPanelRun); }
};

// The lines of one operand in panels.
struct Side {
  std::int64_t lines;
  int width;
  std::int64_t panels;

  Side(std::int64_t count, int panel) : lines(count), width(panel), panels(ceil_divide(count, panel)) {}
  Range all() const { return {0, panels}; }
  int count(std::int64_t panel) const {
    return static_cast<int>(std::min<std::int64_t>(width, lines - panel * width));
  }
  Range lines_of(Range some) const { return {some.begin * width, std::min(some.end * width, lines)}; }
};

// When panels of the right matrix are laid out, by which all rows are multiplied.
enum class Laying {
  First,    // all of them, for all tasks
  ByTask,   // some, before a task multiplies them
  ByTheWay  // each, while the first rows are multiplied by it; not at all when there are no others
};

// What a thread works in. Not a buffer: how many threads there are must not show in what memory a program
// takes.
template <class T>
class Room {
 public:
  Room() = default;
  explicit Room(std::int64_t elements)
      : bytes_(static_cast<std::size_t>(elements) * sizeof(T)),
        data_(static_cast<T*>(memory::take_block(bytes_)), Give{bytes_}) {}
  T* data() const { return data_.get(); }

 private:
  struct Give {
    std::size_t bytes;
    void operator()(T* block) const { memory::give_block(block, bytes); }
  };
  std::size_t bytes_ = 0;
  std::unique_ptr<T, Give> data_{nullptr, Give{0}};
};

// How a product is cut: tasks are a block of rows by a group of columns.
struct Grid {
  std::int64_t blocks, groups;
  std::int64_t tasks() const { return blocks * groups; }
};

// The products of a call.
template <class T>
class Job {
 public:
  Job(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k,
      const RangeFn* done)
      : products_(products),
        left_(m, kernels_.left),
        right_(n, kernels_.right),
        laying_(laying()),
        left_is_laid_(products[0].a.column != 1 || products[0].a.row == 0 || n >= kManyColumns),
        depth_(k, left_.panels == 1 && laying_ == Laying::ByTheWay ? kMostDepthOnce : kMostDepth),
        left_panel_(spread(left_.width)),
        right_panel_(spread(right_.width)),
        grid_(cut(is_side_by_side() ? 1 : num_threads())),
        done_(static_cast<std::int64_t>(products.size()) * grid_.blocks, grid_.groups, done) {}

  void multiply() { is_side_by_side() ? side_by_side() : one_after_the_other(); }

 private:
  // ---- How ----

  bool is_side_by_side() const { return static_cast<std::int64_t>(products_.size()) >= kMany; }

  Laying laying() const {
    const MatrixView<T>& b = products_[0].b;
    const bool is_near = left_.panels == 1 || b.row * static_cast<std::int64_t>(sizeof(T)) <= kNearBytes;
    if (b.column == 1 && is_near && left_.lines <= kSomeRows) return Laying::ByTheWay;
    return left_.lines <= kFewRows ? Laying::ByTask : Laying::First;
  }

  // The grid whose tasks take the least time, by what they multiply and lay out.
  Grid cut(std::int64_t threads) const {
    const std::int64_t most_rows =
        (left_is_laid_ ? 1 : 2) * kMostRowBytes / static_cast<std::int64_t>(sizeof(T));
    Grid best{ceil_divide(left_.panels * left_.width, most_rows), 1};
    const std::int64_t least = best.blocks;
    if (threads == 1 || left_.lines * right_.lines * depth_.steps < 2 * kThreadGrain) return best;
    // As many multiply-adds for each step take as long as laying out a column for it, or a row.
    const std::int64_t column = laying_ == Laying::First ? 1 : laying_ == Laying::ByTask ? 16 : 6;
    const std::int64_t row = left_is_laid_ ? 16 : 1;
    constexpr std::int64_t kLeastRounds = 2, kMostRounds = 4;  // of tasks, for each thread
    constexpr std::int64_t kUneven = 10;  // one in so many rounds is lost when threads are not equally fast
    std::int64_t best_cost = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t rounds = kMostRounds; rounds >= kLeastRounds; --rounds) {
      const std::int64_t wanted = rounds * threads;
      for (std::int64_t blocks = least; blocks <= std::min(left_.panels, std::max(least, wanted)); ++blocks) {
        const std::int64_t groups = std::clamp<std::int64_t>(ceil_divide(wanted, blocks), 1, right_.panels);
        const std::int64_t rows = ceil_divide(left_.panels, blocks) * left_.width;
        const std::int64_t columns = ceil_divide(right_.panels, groups) * right_.width;
        const std::int64_t time =
            ceil_divide(blocks * groups, threads) * (rows * columns + rows * row + columns * column);
        const std::int64_t cost = time + time / (kUneven * rounds);
        if (cost >= best_cost) continue;
        best_cost = cost;
        best = {blocks, groups};
      }
    }
    return best;
  }

  // How far apart panels lie best: an odd number of cache lines.
  std::int64_t spread(int width) const {
    constexpr std::int64_t kLine = 64 / sizeof(T);
    return (ceil_divide(width * depth_.longest(), kLine) | 1) * kLine;
  }

  // Parts of the depth whose right panels are laid out at a time for all tasks.
  std::int64_t parts_at_once() const {
    if (laying_ != Laying::First) return depth_.parts;
    return std::clamp<std::int64_t>(kMostShared / (right_.panels * right_panel_), 1, depth_.parts);
  }
  // Calls f(parts) for those, in order.
  template <class F>
  void each_chunk(const F& f) const {
    const std::int64_t some = parts_at_once();
    for (std::int64_t first = 0; first < depth_.parts; first += some)
      f(Range{first, std::min(first + some, depth_.parts)});
  }
  std::int64_t steps_of(Range parts) const {
    return depth_.part(parts.end - 1).end - depth_.part(parts.begin).begin;
  }

  // ---- Threads ----

  Room<T> shared() const {
    return laying_ == Laying::First ? Room<T>(parts_at_once() * right_.panels * right_panel_) : Room<T>();
  }
  // What a thread lays out itself.
  struct Own {
    std::int64_t most;  // right panels at a time
    Room<T> left, right;

    explicit Own(const Job& job)
        : most(job.laying_ != Laying::ByTask
                   ? 1
                   : std::min(kMostColumnPanels, ceil_divide(job.right_.panels, job.grid_.groups))),
          left((job.left_is_laid_ ? ceil_divide(job.left_.panels, job.grid_.blocks) : 1) * job.left_panel_),
          right(job.laying_ == Laying::First ? Room<T>() : Room<T>(most * job.right_panel_)) {}
  };

  // Threads share a product.
  void one_after_the_other() {
    const Room<T> room = shared();
    T* const laid = room.data();
    const std::int64_t pieces = 4 * num_threads();
    for (std::size_t which = 0; which < products_.size(); ++which) {
      each_chunk([&](Range parts) {
        if (laying_ == Laying::First) {
          parallel_for(pieces, kLayGrain * pieces / (right_.lines * steps_of(parts)),
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i) lay_piece(which, parts, laid, i, pieces);
                       });
        }
        const std::int64_t work = left_.lines * right_.lines * steps_of(parts);
        parallel_for(grid_.tasks(), kThreadGrain * grid_.tasks() / work,
                     [&](std::int64_t begin, std::int64_t end) {
                       const Own own(*this);
                       for (std::int64_t task = begin; task < end; ++task) run(which, parts, task, laid, own);
                     });
      });
    }
  }

  // Each thread has products of its own.
  void side_by_side() {
    const std::int64_t work = left_.lines * right_.lines * depth_.steps;
    parallel_for(static_cast<std::int64_t>(products_.size()), kThreadGrain / work,
                 [&](std::int64_t begin, std::int64_t end) {
                   const Room<T> laid = shared();
                   const Own own(*this);
                   for (std::int64_t which = begin; which < end; ++which)
                     one_by_a_thread(static_cast<std::size_t>(which), laid.data(), own);
                 });
  }
  void one_by_a_thread(std::size_t which, T* laid, const Own& own) {
    each_chunk([&](Range parts) {
      if (laying_ == Laying::First) lay_piece(which, parts, laid, 0, 1);
      for (std::int64_t task = 0; task < grid_.tasks(); ++task) run(which, parts, task, laid, own);
    });
  }

  // ---- Laying out ----

  static PanelLines<T> lines(const MatrixView<T>& from, Range lines, std::int64_t step) {
    return {from.data + lines.begin * from.row + step * from.column, from.row, from.column, lines.size()};
  }
  PanelLines<T> left_lines(const Product<T>& product, Range panels, std::int64_t step) const {
    return lines(product.a, left_.lines_of(panels), step);
  }
  PanelLines<T> right_lines(const Product<T>& product, Range panels, std::int64_t step) const {
    return lines({product.b.data, product.b.column, product.b.row}, right_.lines_of(panels), step);
  }

  // One of so many pieces of all right panels: some steps of each part where neighbours are read together,
  // else some panels.
  void lay_piece(std::size_t which, Range parts, T* to, std::int64_t piece, std::int64_t pieces) const {
    const Product<T>& product = products_[which];
    const bool by_step = product.b.column == 1;
    for (std::int64_t part = parts.begin; part < parts.end; ++part, to += right_.panels * right_panel_) {
      const Range steps = depth_.part(part);
      const Range panels = by_step ? right_.all() : right_.all().part(piece, pieces);
      const Range some = by_step ? Range{0, steps.size()}.part(piece, pieces) : Range{0, steps.size()};
      kernels_.lay_right(right_lines(product, panels, steps.begin), some.begin, some.end,
                         to + panels.begin * right_panel_, right_panel_);
    }
  }

  // Some rows and some steps of a product, and where those rows are laid out that are.
  struct Block {
    const Product<T>& product;
    Range rows, steps;
    T* laid;
  };
  // Kernels read whole panels, and halves of them, where they are.
  bool is_read_in_place(std::int64_t panel) const {
    return !left_is_laid_ && left_.count(panel) % (left_.width / 2) == 0;
  }
  void lay_left(const Block& block) const {
    const std::int64_t last = block.rows.end - 1;
    if (is_read_in_place(last)) return;
    const Range panels{left_is_laid_ ? block.rows.begin : last, block.rows.end};
    kernels_.lay_left(left_lines(block.product, panels, block.steps.begin), 0, block.steps.size(), block.laid,
                      left_panel_);
  }
  void set_left(const Block& block, std::int64_t panel, PanelProduct<T>& of) const {
    of.rows = left_.count(panel);
    of.left_line = 0;
    if (left_is_laid_) {
      of.left = block.laid + (panel - block.rows.begin) * left_panel_;
    } else if (!is_read_in_place(panel)) {
      of.left = block.laid;
    } else {
      const PanelLines<T> rows = left_lines(block.product, {panel, panel + 1}, block.steps.begin);
      of.left = rows.data;
      of.left_line = rows.line;
    }
  }

  // ---- Multiplying ----

  // One task, for some parts of the depth; `laid`: the right panels of these, when they are laid out first.
  void run(std::size_t which, Range parts, std::int64_t task, const T* laid, const Own& own) {
    const Product<T>& product = products_[which];
    const std::int64_t block = task / grid_.groups;
    const Range rows = left_.all().part(block, grid_.blocks);
    const Range columns = right_.all().part(task % grid_.groups, grid_.groups);
    for (std::int64_t part = parts.begin; part < parts.end; ++part) {
      const Block some{product, rows, depth_.part(part), own.left.data()};
      lay_left(some);
      switch (laying_) {
        case Laying::First:
          multiply_laid(some, columns,
                        laid + ((part - parts.begin) * right_.panels + columns.begin) * right_panel_);
          break;
        case Laying::ByTask:
          lay_and_multiply(some, columns, own);
          break;
        case Laying::ByTheWay:
          multiply_by_the_way(some, columns, own.right.data());
          break;
      }
    }
    if (parts.end < depth_.parts) return;
    const Range made = left_.lines_of(rows);
    const std::int64_t first = static_cast<std::int64_t>(which) * left_.lines;
    done_.piece(static_cast<std::int64_t>(which) * grid_.blocks + block, (first + made.begin) * right_.lines,
                (first + made.end) * right_.lines);
  }

  void lay_and_multiply(const Block& block, Range columns, const Own& own) const {
    const std::int64_t times = ceil_divide(columns.size(), own.most);
    for (std::int64_t i = 0; i < times; ++i) {
      const Range some = columns.part(i, times);
      kernels_.lay_right(right_lines(block.product, some, block.steps.begin), 0, block.steps.size(),
                         own.right.data(), right_panel_);
      multiply_laid(block, some, own.right.data());
    }
  }
  void multiply_laid(const Block& block, Range columns, const T* right) const {
    if (block.steps.size() <= kShallow) return multiply_shallow(block, columns, right);
    for (std::int64_t j = columns.begin; j < columns.end; ++j, right += right_panel_) {
      PanelProduct<T> of = begin(block, j);
      of.right = right;
      if (j + 1 < columns.end) {
        of.next = right + right_panel_;
        of.next_step = whole_vectors(right_.count(j + 1));
      }
      multiply_panel(block, j, of);
    }
  }
  // Row by row, as the result lies in memory, which takes longest.
  void multiply_shallow(const Block& block, Range columns, const T* right) const {
    for (std::int64_t i = block.rows.begin; i < block.rows.end; ++i) {
      for (std::int64_t j = columns.begin; j < columns.end; ++j) {
        PanelProduct<T> of = begin(block, j);
        of.right = right + (j - columns.begin) * right_panel_;
        of.c += (i - block.rows.begin) * left_.width * right_.lines;
        set_left(block, i, of);
        kernels_.multiply(of);
      }
    }
  }
  void multiply_by_the_way(const Block& block, Range columns, T* room) const {
    for (std::int64_t j = columns.begin; j < columns.end; ++j) {
      PanelProduct<T> of = begin(block, j);
      const PanelLines<T> source = right_lines(block.product, {j, j + 1}, block.steps.begin);
      if (source.count < of.right_step) {
        kernels_.lay_right(source, 0, block.steps.size(), room, right_panel_);
        of.right = room;
      } else {
        of.right = source.data;
        of.right_step = source.step;
        of.lay_right = block.rows.size() > 1 ? room : nullptr;
      }
      if (j + 1 < columns.end) {
        of.next = source.data + right_.width;
        of.next_step = source.step;
      }
      multiply_panel(block, j, of);
    }
  }
  std::int64_t whole_vectors(int columns) const {
    return ceil_divide(columns, kernels_.vector) * kernels_.vector;
  }
  PanelProduct<T> begin(const Block& block, std::int64_t column) const {
    PanelProduct<T> of{};
    of.depth = block.steps.size();
    of.columns = right_.count(column);
    of.right_step = whole_vectors(of.columns);
    of.c = block.product.c + block.rows.begin * left_.width * right_.lines + column * right_.width;
    of.c_row = right_.lines;
    of.accumulate = block.steps.begin > 0;
    return of;
  }
  // All rows of a block by one right panel. Each asks for a part of the next one.
  void multiply_panel(const Block& block, std::int64_t column, PanelProduct<T> of) const {
    const std::int64_t runs = of.depth / kPanelRun;
    const std::int64_t asked =
        of.next == nullptr || runs == 0 ? 0 : ceil_divide(of.depth, runs * block.rows.size());
    std::int64_t wanted = of.depth;  // steps to ask for
    for (std::int64_t i = block.rows.begin; i < block.rows.end; ++i) {
      set_left(block, i, of);
      of.next_steps = wanted > 0 ? static_cast<int>(asked) : 0;
      kernels_.multiply(of);
      wanted -= runs * asked;
      if (wanted > 0 && asked > 0) of.next += runs * asked * of.next_step;
      of.c += left_.width * right_.lines;
      if (of.lay_right == nullptr) continue;
      of.right = of.lay_right;
      of.right_step = whole_vectors(right_.count(column));
      of.lay_right = nullptr;
    }
  }

  std::span<const Product<T>> products_;
  const PanelKernels<T>& kernels_ = panel_kernels().of<T>();
  Side left_, right_;
  Laying laying_;
  bool left_is_laid_;  // by each task; else read where it is, its rows in one piece each
  Depth depth_;
  std::int64_t left_panel_, right_panel_;  // elements from one to the next that are laid out
  Grid grid_;
  RowBlocks done_;
};

// ---- Deep products ----------------------------------------------------------------------------------------

// Where sums are far longer than there are sums, threads share the depth: segments of it are products of
// their own, which are added in order.
constexpr std::int64_t kSegments = kMany, kLeastSegment = 512, kMostDeep = 1 << 17;

bool is_deep(std::size_t count, std::int64_t m, std::int64_t n, std::int64_t k) {
  return static_cast<std::int64_t>(count) < kMany && k >= kSegments * kLeastSegment && m * n <= kMostDeep;
}

// `done` is called with ranges of elements of c.
template <class T>
void multiply_deep(const Product<T>& product, std::int64_t m, std::int64_t n, std::int64_t k, RangeFn done) {
  const std::int64_t length = k / kSegments / kPanelRun * kPanelRun, rest = k - kSegments * length;
  const std::int64_t size = m * n;
  const Room<T> room((kSegments + 1) * size);
  T* const sums = room.data();
  std::vector<Product<T>> segments;
  for (std::int64_t i = 0; i <= kSegments; ++i) {
    const MatrixView<T>&a = product.a, &b = product.b;
    segments.push_back({{a.data + i * length * a.column, a.row, a.column},
                        {b.data + i * length * b.row, b.row, b.column},
                        sums + i * size});
  }
  const std::span<const Product<T>> all(segments);
  Job<T>(all.first(kSegments), m, n, length, nullptr).multiply();
  if (rest > 0) Job<T>(all.last(1), m, n, rest, nullptr).multiply();
  const std::int64_t count = kSegments + (rest > 0 ? 1 : 0);
  parallel_for(m, ceil_divide(kLayGrain, n), [&](std::int64_t first, std::int64_t last) {
    const std::int64_t begin = first * n, end = last * n;
    std::copy(sums + begin, sums + end, product.c + begin);
    for (std::int64_t s = 1; s < count; ++s)
      for (std::int64_t i = begin; i < end; ++i) product.c[i] += sums[s * size + i];
    done(begin, end);
  });
}

}  // namespace

template <class T>
bool pays(const Product<T>& product, std::int64_t m, std::int64_t n, std::int64_t k) {
  const bool is_long = k >= (m * n <= kNearResult ? kLeastDepthNear : kLeastDepth<T>);
  const bool is_large = m * n * k > kLeastWork<T>;
  const bool is_worth_laying = m >= kLeastRows || product.b.column == 1;
  return is_long && is_large && is_worth_laying && panel_kernels().of<T>().multiply != nullptr;
}

template <class T>
void multiply(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k,
              const RangeFn* done) {
  if (!is_deep(products.size(), m, n, k)) return Job<T>(products, m, n, k, done).multiply();
  for (std::size_t i = 0; i < products.size(); ++i) {
    const std::int64_t before = static_cast<std::int64_t>(i) * m * n;
    const auto is_done = [&](std::int64_t begin, std::int64_t end) {
      if (done != nullptr) (*done)(before + begin, before + end);
    };
    multiply_deep<T>(products[i], m, n, k, is_done);
  }
}

template bool pays<float>(const Product<float>&, std::int64_t, std::int64_t, std::int64_t);
template bool pays<double>(const Product<double>&, std::int64_t, std::int64_t, std::int64_t);
template void multiply<float>(std::span<const Product<float>>, std::int64_t, std::int64_t, std::int64_t,
                              const RangeFn*);
template void multiply<double>(std::span<const Product<double>>, std::int64_t, std::int64_t, std::int64_t,
                               const RangeFn*);

}  // namespace kiln::cpu::panels
