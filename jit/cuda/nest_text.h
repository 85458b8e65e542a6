// Owns the text of one loop nest as CUDA C++: statements within a kernel (jit/cuda/emit.h).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "jit/loops/schedule.h"
#include "jit/passes/target.h"

namespace kiln::jit {

// Prints text, line by line.
class TextLines {
 public:
  // With `marks` each statement may be preceded by the line of the nest it belongs to (jit/passes/target.h).
  explicit TextLines(bool marks) : marks_(marks) {}

  template <class... Arguments>
  void add(int depth, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    text_ += std::string(static_cast<std::size_t>(2 * depth), ' ') +
             fmt::format(text, std::forward<Arguments>(arguments)...) + "\n";
  }
  void mark(std::size_t of) {
    if (marks_) text_ += fmt::format("{}{}\n", kMark, of);
  }
  std::string take() { return std::move(text_); }

 private:
  bool marks_;
  std::string text_;
};

// Prints one nest, whose arguments are `given`. Where several are in one kernel, results of reductions are
// variables: `slot0`, … of rows and `column0`, … of columns.
class NestText {
 public:
  NestText(TextLines& lines, const ScheduledNest& scheduled, std::string given, bool in_registers);

  std::string parameter() const;

  // One thread for each element.
  void elements();
  // One thread for so many neighbours (jit/cuda/vectors.h).
  void vectors(int width) const;
  // A block of threads for each tile (jit/cuda/tiles.h).
  void tiles() const;
  // One warp for each block of a row. Its lanes are those of the fixed order.
  void blocks_of_rows();
  // The part of a warp's work on its row, block after block.
  void row();
  // A team of threads for each tile of columns of a block of rows. `after`, if any, is the nest over what
  // comes of the columns, whose function is `after_symbol`: it is computed at once where there is one block.
  void columns(const NestText* after, std::string_view after_symbol) const;

 private:
  void begin(int depth) const;
  void end(int depth) const;
  void tell(int depth, std::size_t index) const;
  void row_begins(int depth) const;
  void block(int depth) const;
  void fold(int depth, std::size_t k) const;
  void one_element(int depth) const;
  void load_vectors(int depth, int width) const;
  void rows_of_lane(int depth) const;
  void results_of_columns(int depth) const;
  void instructions(int depth, std::string_view places, bool invariant) const;
  void stores(int depth, std::string_view places, bool per_row) const;
  void per_row_stores(int depth, std::string_view condition) const;
  void instruction(int depth, std::size_t index, std::string_view places) const;
  void start_total(int depth, const Reduction& reduction, std::size_t k) const;
  void take_total(int depth, const Reduction& reduction, std::size_t k, std::size_t line) const;
  std::string value(const Instruction& step, std::size_t index, std::string_view places) const;
  std::string read(const Instruction& step, std::size_t index, std::string_view places) const;
  std::string gathered(const Load& load, const Instruction& step, std::size_t index,
                       std::string_view places) const;
  std::string apply(const Instruction& step, std::size_t index) const;
  std::string in(Register from, Compute compute) const;
  DType dtype(Register r) const { return nest_.body[static_cast<std::size_t>(r)].dtype; }

  TextLines& lines_;
  const LoopNest& nest_;
  const NestSchedule& schedule_;
  std::vector<std::size_t> refusing_;
  std::string given_;
  bool in_registers_;
};

}  // namespace kiln::jit
