// Owns products of matrices by panels: when what is laid out, and which tiles are multiplied in which order.
#pragma once

#include <memory>
#include <span>

#include "tensor/cpu/products/gemm.h"
#include "tensor/cpu/products/panel_cut.h"
#include "tensor/cpu/products/row_blocks.h"
#include "tensor/memory.h"
#include "tensor/parallel.h"

namespace kiln::cpu::panels {

// All numbers here were measured on one processor (docs/performance.md).

// Multiply-adds, and elements laid out, below which another thread is not worth it.
inline constexpr std::int64_t kThreadGrain = 1 << 16, kLayGrain = 1 << 15;

// Rows of a block, in bytes of one step.
inline constexpr std::int64_t kMostRowBytes = 768;
inline constexpr std::int64_t kMostColumnPanels = 8;  // that a task lays out before it multiplies them
// So few rows are not worth laying columns out for all of them first; a few more are not where so few bytes
// are between two steps that columns are read fast in any order.
inline constexpr std::int64_t kFewRows = 256, kSomeRows = 512, kNearBytes = 2048;
// A part so short takes less time than its result does to be written, unless that is row by row. So few
// panels of rows do not make up for laying columns out then: so many bytes of them, which stay in the second
// cache, are read in place by one after the other.
inline constexpr std::int64_t kShallow = 64, kFewPanels = 8, kStripBytes = 1 << 19;
inline constexpr std::int64_t kMostShared = 1 << 22;  // elements laid out at a time for all tasks

// When panels of the right matrix are laid out, by which all rows are multiplied.
enum class Laying {
  First,     // all of them, for all tasks
  ByTask,    // some, before a task multiplies them
  ByTheWay,  // each, while the first rows are multiplied by it; not at all when there are no others
  Never
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

// The products of a call.
template <class T>
class Job {
 public:
  Job(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k,
      std::int64_t parts, const RangeFn* done)
      : products_(products),
        left_(m, kernels_.left, kernels_.left),
        right_(n, kernels_.right, kernels_.vector),
        laying_(laying(k)),
        depth_(k, parts),
        left_panel_(spread(left_.width)),
        right_panel_(spread(right_.width)),
        grid_(cut(is_side_by_side() ? 1 : num_threads())),
        done_(static_cast<std::int64_t>(products.size()) * grid_.blocks, grid_.groups, done) {}

  void multiply() { is_side_by_side() ? side_by_side() : one_after_the_other(); }

 private:
  // ---- How ----

  bool is_side_by_side() const { return static_cast<std::int64_t>(products_.size()) >= kManyProducts; }

  Laying laying(std::int64_t k) const {
    const MatrixView<T>& b = products_[0].b;
    if (b.column == 1) {
      const bool is_near = b.row * static_cast<std::int64_t>(sizeof(T)) <= kNearBytes;
      if (k <= kShallow && (is_near || left_.panels <= kFewPanels)) return Laying::Never;
      if (left_.panels == 1 || (is_near && left_.lines <= kSomeRows)) return Laying::ByTheWay;
    }
    return left_.lines <= kFewRows ? Laying::ByTask : Laying::First;
  }
  // Multiply-adds of one step that take as long as laying a line out for it.
  std::int64_t column_cost() const {
    switch (laying_) {
      case Laying::ByTask:
        return 16;
      case Laying::ByTheWay:
        return 6;
      default:
        return 1;
    }
  }
  static constexpr std::int64_t kRowCost = 16;

  Grid cut(std::int64_t threads) const {
    constexpr std::int64_t kMostRows = kMostRowBytes / static_cast<std::int64_t>(sizeof(T));
    const std::int64_t least = ceil_divide(left_.panels * left_.width, kMostRows);
    if (threads == 1 || left_.lines * right_.lines * depth_.steps < 2 * kThreadGrain) return {least, 1};
    return cut_for_threads(left_, right_, kRowCost, column_cost(), least, threads);
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
        : most(job.most_own()),
          left(ceil_divide(job.left_.panels, job.grid_.blocks) * job.left_panel_),
          right(most > 0 ? Room<T>(most * job.right_panel_) : Room<T>()) {}
  };
  std::int64_t most_own() const {
    switch (laying_) {
      case Laying::ByTask:
        return std::min(kMostColumnPanels, ceil_divide(right_.panels, grid_.groups));
      case Laying::ByTheWay:
        return 1;
      default:
        return 0;
    }
  }

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

  // Some rows and some steps of a product, and where those rows are laid out.
  struct Block {
    const Product<T>& product;
    Range rows, steps;
    T* laid;
  };
  void lay_left(const Block& block) const {
    kernels_.lay_left(left_lines(block.product, block.rows, block.steps.begin), 0, block.steps.size(),
                      block.laid, left_panel_);
  }
  void set_left(const Block& block, std::int64_t panel, PanelProduct<T>& of) const {
    of.rows = left_.count(panel);
    of.left = block.laid + (panel - block.rows.begin) * left_panel_;
  }

  // ---- Multiplying ----

  // One task, for some parts of the depth; `laid`: the right panels of these, when they are laid out first.
  void run(std::size_t which, Range parts, std::int64_t task, const T* laid, const Own& own) {
    const Product<T>& product = products_[which];
    const std::int64_t block = task / grid_.groups;
    const Range rows = left_.all().part(block, grid_.blocks);
    const Range columns = right_.all().part(task % grid_.groups, grid_.groups);
    for (std::int64_t part = parts.begin; part < parts.end; ++part) {
      check_interrupt();
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
        case Laying::Never:
          multiply_in_place(some, columns);
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
    if (block.steps.size() <= kShallow) return multiply_rows(block, columns, {right, right_panel_, 0, true});
    for (std::int64_t j = columns.begin; j < columns.end; ++j, right += right_panel_) {
      PanelProduct<T> of = begin(block, j);
      of.right = right;
      of.right_step = right_.step(j);
      of.right_is_filled = true;
      multiply_panel(block, j, of);
    }
  }
  void multiply_by_the_way(const Block& block, Range columns, T* room) const {
    for (std::int64_t j = columns.begin; j < columns.end; ++j) {
      PanelProduct<T> of = begin(block, j);
      const PanelLines<T> source = right_lines(block.product, {j, j + 1}, block.steps.begin);
      of.right = source.data;
      of.right_step = source.step;
      of.lay_right = block.rows.size() > 1 ? room : nullptr;
      multiply_panel(block, j, of);
    }
  }
  void multiply_in_place(const Block& block, Range columns) const {
    const std::int64_t bytes = right_.width * block.steps.size() * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t strips = ceil_divide(columns.size() * bytes, kStripBytes);
    for (std::int64_t i = 0; i < strips; ++i) {
      const Range some = columns.part(i, strips);
      const PanelLines<T> source = right_lines(block.product, some, block.steps.begin);
      multiply_rows(block, some, {source.data, right_.width, source.step, false});
    }
  }

  // The product of some rows by one right panel, or by several from that one on.
  PanelProduct<T> begin(const Block& block, std::int64_t column) const {
    PanelProduct<T> of{};
    of.depth = block.steps.size();
    of.columns = right_.count(column);
    of.c = block.product.c + block.rows.begin * left_.width * right_.lines + column * right_.width;
    of.c_row = right_.lines;
    of.accumulate = block.steps.begin > 0;
    of.tiles = 1;
    return of;
  }

  // All rows of a block by one right panel.
  void multiply_panel(const Block& block, std::int64_t column, PanelProduct<T> of) const {
    for (std::int64_t i = block.rows.begin; i < block.rows.end; ++i) {
      set_left(block, i, of);
      kernels_.multiply(of);
      of.c += left_.width * right_.lines;
      if (of.lay_right == nullptr) continue;
      of.right = of.lay_right;
      of.right_step = right_.step(column);
      of.right_is_filled = true;
      of.lay_right = nullptr;
    }
  }

  // Right panels side by side, where they are or laid out.
  struct PanelsAt {
    const T* data;
    std::int64_t next, step;  // elements from one to the next; from a step to the next of those in place
    bool are_laid;
  };
  // Row by row, as the result lies in memory, which takes longest.
  void multiply_rows(const Block& block, Range columns, const PanelsAt& right) const {
    PanelProduct<T> of = begin(block, columns.begin);
    const std::int64_t whole = right_.end_of_whole(columns);
    T* const first = of.c;
    of.next_panel = right.next;
    of.right_is_filled = right.are_laid;
    for (std::int64_t i = block.rows.begin; i < block.rows.end; ++i) {
      set_left(block, i, of);
      of.right = right.data;
      of.c = first + (i - block.rows.begin) * left_.width * right_.lines;
      for (std::int64_t j = columns.begin; j < columns.end; j += of.tiles) {
        of.tiles = static_cast<int>(j < whole ? whole - j : 1);
        of.columns = right_.count(j);
        of.right_step = right.are_laid ? right_.step(j) : right.step;
        kernels_.multiply(of);
        of.right += of.tiles * right.next;
        of.c += of.tiles * right_.width;
      }
    }
  }

  std::span<const Product<T>> products_;
  const PanelKernels<T>& kernels_ = panel_kernels().of<T>();
  Side left_, right_;
  Laying laying_;
  Depth depth_;
  std::int64_t left_panel_, right_panel_;  // elements from one to the next that are laid out
  Grid grid_;
  RowBlocks done_;
};

}  // namespace kiln::cpu::panels
