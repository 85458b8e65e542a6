#include "jit/cuda/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "jit/cuda/arguments.h"
#include "jit/cuda/gather.h"
#include "jit/cuda/literals.h"
#include "jit/cuda/nest_words.h"
#include "jit/passes/target.h"
#include "tensor/compute.h"
#include "tensor/cuda/draws.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {
namespace {

// Draws whose attributes follow sizes are no loads (jit/cuda/target.cpp).
std::string drawn_type(const Load& load) {
  const Attrs attrs = evaluate(*load.drawn, load.attrs, {});
  return cuda::draw_type(load.drawn->lowering.as<lowering::Draw>()->distribution(attrs).kind, load.dtype);
}
bool draws(const ScheduledNest& scheduled) {
  return std::ranges::any_of(scheduled.nest->loads, [](const Load& each) { return each.drawn != nullptr; });
}

// Prints text, line by line.
class Lines {
 public:
  explicit Lines(bool marks) : marks_(marks) {}

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
// the variables `slot0`, …
class NestPrinter {
 public:
  NestPrinter(Lines& lines, const LoopNest& nest, std::string given, bool in_registers)
      : lines_(lines), nest_(nest), given_(std::move(given)), in_registers_(in_registers) {}

  std::string parameter() const {
    return fmt::format("const Arguments<{}, {}, {}> {}", operands_of(nest_),
                       nest_.reductions.size() + slots_of(nest_), numbers_of(nest_), given_);
  }

  // One thread for each element.
  void elements() {
    begin(1);
    instructions(1, "0", true);
    lines_.add(1, "for (Count i = first_thread(); i < {}.length; i += all_threads()) {{", given_);
    lines_.add(2, "Count at[{}];", operands_of(nest_));
    lines_.add(2, "places_at({0}.inner, {0}.length, i, at);", given_);
    instructions(2, "at", false);
    stores(2, "at", false);
    lines_.add(1, "}}");
    end(1);
  }

  // One warp for each block of a row. Its lanes are those of the fixed order.
  void blocks_of_rows() {
    begin(1);
    lines_.add(1, "const int lane = threadIdx.x % kLanes;");
    lines_.add(1, "const Count blocks = {0}.rows * {0}.blocks;", given_);
    lines_.add(
        1, "for (Count unit = first_thread() / kLanes; unit < blocks; unit += all_threads() / kLanes) {{");
    lines_.add(2, "const Count row = unit / {0}.blocks, first = unit % {0}.blocks * kBlock;", given_);
    row_begins(2);
    block(2);
    per_row_stores(2, "first == 0 && lane == 0");
    for (std::size_t k = 0; k < nest_.reductions.size(); ++k) {
      fold(2, k);
      lines_.add(2, "if (lane == 0) put({}.data[{}], unit, total{});", given_, operands_of(nest_) + k, k);
    }
    lines_.add(1, "}}");
    end(1);
  }

  // The part of a warp's work on its row, block after block.
  void row() {
    begin(3);
    row_begins(3);
    for (std::size_t k = 0; k < nest_.reductions.size(); ++k)
      lines_.add(3, "Tree<{}, {}> tree{};", cuda_combine(nest_.reductions[k].combine),
                 cuda_element(nest_.reductions[k].accumulator), k);
    lines_.add(3, "for (Count first = 0; first < {0}.length || first == 0; first += kBlock) {{", given_);
    block(4);
    for (std::size_t k = 0; k < nest_.reductions.size(); ++k) {
      fold(4, k);
      lines_.add(4, "tree{0}.add(total{0});", k);
    }
    lines_.add(3, "}}");
    per_row_stores(3, "lane == 0");
    for (std::size_t k = 0; k < nest_.reductions.size(); ++k)
      lines_.add(3, "slot{} = from_first_lane(tree{}.result());", nest_.reductions[k].slot, k);
    end(3);
  }

 private:
  // A bit for each instruction that may refuse an element.
  void begin(int depth) {
    lines_.add(depth, "[[maybe_unused]] unsigned unused = 0;");
    for (std::size_t word = 0; word * kBits < refusing_.size(); ++word)
      lines_.add(depth, "unsigned long long failed{} = 0;", word);
  }
  void end(int depth) {
    for (std::size_t word = 0; word * kBits < refusing_.size(); ++word)
      lines_.add(depth, "if (failed{0} != 0) refuse({1}, {2} + __ffsll(failed{0}));", word, given_,
                 static_cast<int>(word * kBits) - 1);
  }
  void tell(int depth, std::size_t index) {
    const auto place = std::ranges::find(refusing_, index);
    if (place == refusing_.end()) return;
    const auto number = static_cast<std::size_t>(place - refusing_.begin());
    lines_.add(depth, "if (bad{} != 0) failed{} |= 1ULL << {};", index, number / kBits, number % kBits);
  }

  void row_begins(int depth) {
    lines_.add(depth, "Count start[{0}], at[{0}];", operands_of(nest_));
    lines_.add(depth, "places_at({0}.outer, {0}.rows, row, start);", given_);
    instructions(depth, "start", true);
  }
  // The elements of the block that begins at `first`.
  void block(int depth) {
    for (std::size_t k = 0; k < nest_.reductions.size(); ++k) {
      lines_.add(depth, "{0} total{1} = {2}::identity<{0}>();", cuda_element(nest_.reductions[k].accumulator),
                 k, cuda_combine(nest_.reductions[k].combine));
    }
    const bool any = std::any_of(nest_.stores.begin(), nest_.stores.end(),
                                 [](const Store& each) { return !each.per_row; });
    if (!any && nest_.reductions.empty()) return;
    lines_.add(depth, "const Count end = {0}.length < first + kBlock ? {0}.length : first + kBlock;", given_);
    lines_.add(depth, "for (Count i = first + lane; i < end; i += kLanes) {{");
    lines_.add(depth + 1, "places_at({0}.inner, {0}.length, i, at);", given_);
    lines_.add(depth + 1, "for (int k = 0; k < {}; ++k) at[k] += start[k];", operands_of(nest_));
    instructions(depth + 1, "at", false);
    stores(depth + 1, "at", false);
    for (std::size_t k = 0; k < nest_.reductions.size(); ++k) {
      const Reduction& each = nest_.reductions[k];
      lines_.mark(reduction_line(nest_, k));
      lines_.add(depth + 1, "total{0} = {1}::combine(total{0}, {2});", k, cuda_combine(each.combine),
                 in(each.value, compute_of(each.accumulator)));
    }
    lines_.add(depth, "}}");
  }
  void fold(int depth, std::size_t k) {
    lines_.mark(reduction_line(nest_, k));
    lines_.add(depth, "total{0} = fold<{1}>(total{0});", k, cuda_combine(nest_.reductions[k].combine));
  }

  // Those that are the same for all elements, or for those of a row; or those that are not.
  void instructions(int depth, std::string_view places, bool invariant) {
    for (std::size_t i = 0; i < nest_.body.size(); ++i) {
      if (nest_.body[i].invariant == invariant) instruction(depth, i, places);
    }
  }
  void stores(int depth, std::string_view places, bool per_row) {
    for (std::size_t k = 0; k < nest_.stores.size(); ++k) {
      if (nest_.stores[k].per_row != per_row) continue;
      lines_.mark(store_line(nest_, k));
      lines_.add(depth, "put({0}.data[{1}], {2}[{1}], r{3});", given_, nest_.loads.size() + k, places,
                 nest_.stores[k].value);
    }
  }
  void per_row_stores(int depth, std::string_view condition) {
    if (std::none_of(nest_.stores.begin(), nest_.stores.end(),
                     [](const Store& each) { return each.per_row; }))
      return;
    lines_.add(depth, "if ({}) {{", condition);
    stores(depth + 1, "start", true);
    lines_.add(depth, "}}");
  }

  void instruction(int depth, std::size_t index, std::string_view places) {
    const Instruction& step = nest_.body[index];
    lines_.mark(index);
    if (std::ranges::find(refusing_, index) != refusing_.end())
      lines_.add(depth, "unsigned bad{} = 0;", index);
    lines_.add(depth, "const {} r{} = {};", cuda_element(step.dtype), index, value(step, index, places));
    tell(depth, index);
  }

  std::string value(const Instruction& step, std::size_t index, std::string_view places) const {
    switch (step.kind) {
      case Instruction::Kind::Read:
        return read(step, index, places);
      case Instruction::Kind::Constant:
        return constant_text(step);
      case Instruction::Kind::Symbol:
        return fmt::format("{}.numbers[{}]", given_, step.index);
      case Instruction::Kind::Reduced:
        return in_registers_ ? fmt::format("slot{}", step.index)
                             : fmt::format("element<{}>({}.data[{}], row)", cuda_element(step.dtype), given_,
                                           operands_of(nest_) + nest_.reductions.size() +
                                               static_cast<std::size_t>(step.index));
      case Instruction::Kind::Apply:
        return apply(step, index);
      case Instruction::Kind::Convert:
        break;
    }
    const Register from = step.operands[0];
    return fmt::format("scalar::convert<{}>({})", cuda_element(step.dtype),
                       in(from, compute_of(dtype(from))));
  }

  std::string read(const Instruction& step, std::size_t index, std::string_view places) const {
    const char* const type = cuda_element(step.dtype);
    const Load& load = nest_.loads[static_cast<std::size_t>(step.index)];
    if (load.drawn != nullptr) {
      return fmt::format("drawn<{}>({}.numbers + {}, {}[{}])", drawn_type(load), given_,
                         first_word_of(nest_, static_cast<std::size_t>(step.index)), places, step.index);
    }
    if (load.gather != nullptr) return gathered(load, step, index, places);
    if (load.is_number) return fmt::format("number<{}>({}.data[{}])", type, given_, step.index);
    if (places == "0") return fmt::format("element<{}>({}.data[{}], 0)", type, given_, step.index);
    return fmt::format("element<{0}>({1}.data[{2}], {3}[{2}])", type, given_, step.index, places);
  }

  // Where an index is refused, an element that nothing depends on.
  std::string gathered(const Load& load, const Instruction& step, std::size_t index,
                       std::string_view places) const {
    const auto k = static_cast<std::size_t>(step.index);
    std::size_t operand = first_index_of(nest_, k), word = first_word_of(nest_, k);
    std::string place = fmt::format("{}[{}]", places, k);
    for (const std::size_t each : indices_of(load)) {
      place += fmt::format(" + index_step(element<{}>({}.data[{}], {}[{}]), {}.numbers + {}, bad{})",
                           cuda_element(load.operands[each].dtype), given_, operand, places, operand, given_,
                           word, index);
      ++operand;
      word += kIndexWords;
    }
    return fmt::format("picked<{}>({}.data[{}], {}, bad{})", cuda_element(step.dtype), given_, k, place,
                       index);
  }

  std::string apply(const Instruction& step, std::size_t index) const {
    const Pointwise& row = *step.op->pointwise;
    std::string operands;
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      const Register from = step.operands[k];
      operands +=
          (static_cast<int>(k) == row.mask ? fmt::format("r{}", from) : in(from, step.compute)) + ", ";
    }
    return fmt::format("scalar::convert<{}>(scalar::{}::apply({}Params{{{}}}, {}))", cuda_element(step.dtype),
                       cuda::row_name(row.row), operands, params_text(step.params),
                       step.failure >= 0 ? fmt::format("bad{}", index) : "unused");
  }

  // A register as the arithmetic reads it.
  std::string in(Register from, Compute compute) const {
    const std::string wide = fmt::format("scalar::widen(r{})", from);
    return compute_of(dtype(from)) == compute
               ? wide
               : fmt::format("scalar::convert<{}>({})", cuda::compute_name(compute), wide);
  }
  DType dtype(Register r) const { return nest_.body[static_cast<std::size_t>(r)].dtype; }

  static constexpr std::size_t kBits = 64;

  Lines& lines_;
  const LoopNest& nest_;
  std::vector<std::size_t> refusing_ = refusing(nest_);
  std::string given_;
  bool in_registers_;
};

void print_alone(Lines& lines, const LoopNest& nest, std::size_t number) {
  NestPrinter printer(lines, nest, "given", false);
  lines.add(0, "extern \"C\" __global__ void __launch_bounds__(256) {}({}) {{", kernel_symbol(number),
            printer.parameter());
  nest.row_rank > 0 ? printer.blocks_of_rows() : printer.elements();
  lines.add(0, "}}");
}

// Nests that take each row in turn, one warp a row.
void print_joined(Lines& lines, std::span<const ScheduledNest> nests, std::size_t number) {
  std::vector<NestPrinter> printers;
  std::string parameters;
  for (std::size_t k = 0; k < nests.size(); ++k) {
    printers.emplace_back(lines, *nests[k].nest, fmt::format("given{}", k), true);
    parameters += (k == 0 ? "" : ", ") + printers.back().parameter();
  }
  lines.add(0, "extern \"C\" __global__ void __launch_bounds__(256) {}({}) {{", kernel_symbol(number),
            parameters);
  lines.add(1, "const int lane = threadIdx.x % kLanes;");
  lines.add(1,
            "for (Count row = first_thread() / kLanes; row < given0.rows; row += all_threads() / kLanes) {{");
  for (const ScheduledNest& each : nests) {
    for (const Reduction& reduction : each.nest->reductions)
      lines.add(2, "{} slot{};", cuda_element(reduction.accumulator), reduction.slot);
  }
  for (std::size_t k = 0; k < nests.size(); ++k) {
    k == 0 ? lines.add(2, "{{") : lines.add(2, "{{  // {}(row)", kernel_symbol(number + k));
    printers[k].row();
    lines.add(2, "}}");
  }
  lines.add(1, "}}");
  lines.add(0, "}}");
}

}  // namespace

const char* cuda_element(DType dtype) { return cuda::element_name(dtype); }
const char* cuda_combine(cpu::Combine combine) { return cuda::combine_name(combine); }

std::string cuda_text(std::span<const ScheduledNest> nests, bool marks) {
  std::string text = std::ranges::any_of(nests, draws) ? "#include \"tensor/cuda/kernels/draws.cuh\"\n" : "";
  text += "#include \"tensor/cuda/kernels/nest.cuh\"\n\nusing namespace kiln;\nusing namespace kiln::cuda;\n";
  for (std::size_t begin = 0; begin < nests.size();) {
    std::size_t end = begin + 1;
    while (end < nests.size() && nests[end].schedule->joins) ++end;
    Lines lines(marks);
    lines.add(0, "");
    end == begin + 1 ? print_alone(lines, *nests[begin].nest, begin)
                     : print_joined(lines, nests.subspan(begin, end - begin), begin);
    text += lines.take();
    begin = end;
  }
  return text;
}

}  // namespace kiln::jit
