#include "jit/cpu/row_interleaved.h"

#include <algorithm>
#include <map>

#include "jit/llvm/kernel_code.h"

namespace kiln::jit {
namespace {

using Kind = Instruction::Kind;

// Splits one pass over a row in two: one nest computes the numbers of the row, the other its elements.
class Splitter {
 public:
  Splitter(const LoopNest& pass, std::vector<DType>& buffers) : pass_(pass), buffers_(buffers) {
    for (LoopNest* each : {&row_, &elements_}) {
      each->name = pass.name;
      each->axes = pass.axes;
      each->row_rank = pass.row_rank;
      each->numbers = pass.numbers;
    }
    for (const Instruction& each : pass.body) of_row_.push_back(is_of_row(each));
  }

  // Adds those of the two nests that compute anything, in order. `of_rows`, by nest: does it work on one
  // number a row alone?
  void run(std::vector<LoopNest>& passes, std::vector<bool>& of_rows) {
    for (const Store& each : pass_.stores) {
      LoopNest& nest = each.per_row ? row_ : elements_;
      Store made = each;
      made.per_row = false;
      made.value = each.per_row ? in_row(each.value) : in_elements(each.value);
      nest.stores.push_back(std::move(made));
    }
    for (const Reduction& each : pass_.reductions) {
      elements_.columns.push_back(each);
      elements_.columns.back().value = in_elements(each.value);
    }
    for (const auto& [from, buffer] : kept_) {
      Store made;
      made.value = in_row(from);
      made.dtype = step(from).dtype;
      made.buffer = buffer;
      row_.stores.push_back(made);
    }
    const auto add = [&](LoopNest nest, bool is_of_rows) {
      if (nest.stores.empty() && nest.columns.empty()) return;
      passes.push_back(std::move(nest));
      of_rows.push_back(is_of_rows);
    };
    add(std::move(row_), true);
    add(std::move(elements_), false);
  }

 private:
  const Instruction& step(Register r) const { return pass_.body[static_cast<std::size_t>(r)]; }
  bool is_of_row(Register r) const { return of_row_[static_cast<std::size_t>(r)]; }
  // Is it one number for each row? A number that is the same for all rows is none.
  bool is_of_row(const Instruction& each) const {
    if (!each.invariant) return false;
    if (each.kind == Kind::Read) return pass_.loads[static_cast<std::size_t>(each.index)].per_row;
    if (each.kind == Kind::Reduced) return true;
    return std::any_of(each.operands.begin(), each.operands.end(),
                       [this](Register r) { return is_of_row(r); });
  }

  Register in_row(Register from) { return moved(from, row_, in_row_, false); }
  Register in_elements(Register from) { return moved(from, elements_, in_elements_, true); }

  Register moved(Register from, LoopNest& nest, std::map<Register, Register>& known, bool is_read) {
    if (const auto found = known.find(from); found != known.end()) return found->second;
    Instruction made = step(from);
    const bool is_result = made.kind == Kind::Apply || made.kind == Kind::Convert;
    if (made.kind == Kind::Read) {
      made = read(made, pass_.loads[static_cast<std::size_t>(made.index)], nest);
    } else if (made.kind == Kind::Reduced) {
      Load load;
      load.dtype = made.dtype;
      load.column = made.index;
      made = read(made, load, nest);
    } else if (is_result && is_of_row(from) && is_read) {
      Load load;
      load.dtype = made.dtype;
      load.buffer = buffer_of(from);
      load.per_row = true;
      made = read(made, load, nest);
    } else {
      for (Register& each : made.operands) each = moved(each, nest, known, is_read);
    }
    if (is_of_row(from)) made.invariant = false;
    nest.body.push_back(std::move(made));
    return known[from] = static_cast<Register>(nest.body.size()) - 1;
  }
  static Instruction read(const Instruction& like, Load load, LoopNest& nest) {
    load.loop_invariant = false;  // a vector has the numbers of several rows
    load.invariant = load.invariant && !load.per_row;
    Instruction made;
    made.kind = Kind::Read;
    made.dtype = like.dtype;
    made.invariant = load.invariant;
    made.index = static_cast<int>(nest.loads.size());
    made.node = like.node;
    nest.loads.push_back(std::move(load));
    return made;
  }
  int buffer_of(Register from) {
    const auto [found, fresh] = kept_.try_emplace(from, static_cast<int>(buffers_.size()));
    if (fresh) buffers_.push_back(step(from).dtype);
    return found->second;
  }

  const LoopNest& pass_;
  std::vector<DType>& buffers_;
  LoopNest row_, elements_;
  std::vector<bool> of_row_;  // by register
  std::map<Register, Register> in_row_, in_elements_;
  std::map<Register, int> kept_;  // numbers of rows that the nest of elements reads, and their buffers
};

}  // namespace

ScheduledKernel interleave_rows(Lowered rows) {
  std::vector<LoopNest> passes;
  std::vector<bool> of_rows;
  for (const LoopNest& each : rows.passes) Splitter(each, rows.buffers).run(passes, of_rows);
  rows.passes = std::move(passes);
  Schedule schedule = plain_schedule(rows.passes, kVector);
  schedule.interleaves_rows = true;
  for (std::size_t p = 0; p < of_rows.size(); ++p) schedule.nests[p].of_rows = of_rows[p];
  return {std::move(rows), std::move(schedule)};
}

}  // namespace kiln::jit
