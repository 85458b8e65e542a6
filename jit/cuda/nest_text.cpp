#include "jit/cuda/nest_text.h"

#include <algorithm>

#include "jit/cuda/emit.h"
#include "jit/cuda/gather.h"
#include "jit/cuda/literals.h"
#include "jit/cuda/nest_words.h"
#include "jit/cuda/vectors.h"
#include "tensor/compute.h"
#include "tensor/cuda/draws.h"
#include "tensor/cuda/kernel_names.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {
namespace {

// In place of the name of places: elements are in vectors.
constexpr std::string_view kInVectors = "vectors", kInTiles = "tiles";
constexpr std::size_t kBits = 64;  // of a word of failures
// Rows of a lane wait for memory together where what is computed of an element is so little.
constexpr std::int64_t kWorthUnrolling = 32;

// Draws whose attributes follow sizes are no loads (jit/cuda/target.cpp).
std::string drawn_type(const Load& load) {
  const Attrs attrs = evaluate(*load.drawn, load.attrs, {});
  return cuda::draw_type(load.drawn->lowering.as<lowering::Draw>()->distribution(attrs).kind, load.dtype);
}

}  // namespace

NestText::NestText(TextLines& lines, const ScheduledNest& scheduled, std::string given, bool in_registers)
    : lines_(lines),
      nest_(*scheduled.nest),
      schedule_(*scheduled.schedule),
      refusing_(refusing(nest_)),
      given_(std::move(given)),
      in_registers_(in_registers) {}

std::string NestText::parameter() const {
  return fmt::format("const Arguments<{}, {}, {}> {}", operands_of(nest_), results_of(nest_),
                     numbers_of(nest_), given_);
}

void NestText::elements() {
  begin(1);
  instructions(1, "0", true);
  lines_.add(1, "for (Count i = first_thread(); i < {}.length; i += all_threads()) {{", given_);
  one_element(2);
  lines_.add(1, "}}");
  end(1);
}

// The one with number `i`, of a nest without reductions.
void NestText::one_element(int depth) const {
  lines_.add(depth, "Count at[{}];", operands_of(nest_));
  lines_.add(depth, "places_at({0}.inner, {0}.length, i, at);", given_);
  instructions(depth, "at", false);
  stores(depth, "at", false);
}

// The last vector may be shorter.
void NestText::vectors(int width) const {
  begin(1);
  instructions(1, "0", true);
  lines_.add(1,
             "for (Count first = {0} * first_thread(); first < {1}.length; first += {0} * all_threads()) {{",
             width, given_);
  load_vectors(2, width);
  for (std::size_t k = 0; k < nest_.stores.size(); ++k)
    lines_.add(2, "Vector<{}, {}> stored{};", cuda_element(nest_.stores[k].dtype), width, k);
  lines_.add(0, "#pragma unroll");
  lines_.add(2, "for (int i = 0; i < {}; ++i) {{", width);
  instructions(3, kInVectors, false);
  for (std::size_t k = 0; k < nest_.stores.size(); ++k) {
    lines_.mark(store_line(nest_, k));
    lines_.add(3, "stored{}.at[i] = r{};", k, nest_.stores[k].value);
  }
  lines_.add(2, "}}");
  for (std::size_t k = 0; k < nest_.stores.size(); ++k)
    lines_.add(2, "store_first({0}.data[{1}], at[{1}], stored{2}, count);", given_, nest_.loads.size() + k,
               k);
  lines_.add(1, "}}");
  end(1);
}
void NestText::load_vectors(int depth, int width) const {
  lines_.add(depth, "Count at[{}];", operands_of(nest_));
  lines_.add(depth, "places_at({0}.inner, {0}.length, first, at);", given_);
  lines_.add(depth,
             "const int count = {0}.length - first < {1} ? static_cast<int>({0}.length - first) : {1};",
             given_, width);
  for (std::size_t k = 0; k < nest_.loads.size(); ++k) {
    if (!is_loaded_in_vectors(nest_.loads[k])) continue;
    lines_.add(depth,
               "const auto loaded{0} = load_first<{1}, {2}>({3}.data[{0}], at[{0}], "
               "{3}.inner.strides[{0}][0], count);",
               k, cuda_element(nest_.loads[k].dtype), width, given_);
  }
}

void NestText::tiles() const {
  begin(1);
  lines_.add(1, "__shared__ TileSlot slots[kTileSlots];");
  lines_.add(1, "const int x = threadIdx.x % kTileSide;");
  instructions(1, "0", true);
  lines_.add(1, "for (Count tile = blockIdx.x; tile < job.tiles; tile += gridDim.x) {{");
  lines_.add(2, "const TilePlace place = tile_place(job, tile);");
  lines_.add(2, "Count corner[{0}], at[{0}];", operands_of(nest_));
  lines_.add(2, "places_at({0}.inner, {0}.length, place.element, corner);", given_);
  for (std::size_t k = 0; k < nest_.loads.size(); ++k)
    if (is_loaded_in_vectors(nest_.loads[k]))
      lines_.add(
          2, "fill_tile<{0}>(slots, job, {1}, {2}.data[{1}], corner[{1}], {2}.inner.strides[{1}], place);",
          cuda_element(nest_.loads[k].dtype), k, given_);
  lines_.add(2, "__syncthreads();");
  lines_.add(2, "for (int y = threadIdx.x / kTileSide; y < kTileSide; y += kTileStep) {{");
  lines_.add(3, "if (place.row + y >= job.rows || place.column + x >= job.columns) continue;");
  lines_.add(3,
             "for (int k = 0; k < {0}; ++k) at[k] = corner[k] + x * {1}.inner.strides[k][0] + y * "
             "{1}.inner.strides[k][1];",
             operands_of(nest_), given_);
  instructions(3, kInTiles, false);
  stores(3, "at", false);
  lines_.add(2, "}}");
  lines_.add(2, "__syncthreads();  // before the tiles are filled again");
  lines_.add(1, "}}");
  end(1);
}

void NestText::blocks_of_rows() {
  begin(1);
  lines_.add(1, "const int lane = threadIdx.x % kLanes;");
  lines_.add(1, "const Count blocks = {0}.rows * {0}.blocks;", given_);
  lines_.add(1,
             "for (Count unit = first_thread() / kLanes; unit < blocks; unit += all_threads() / kLanes) {{");
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

void NestText::row() {
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
  for (std::size_t k = 0; k < nest_.reductions.size(); ++k) {
    const int slot = nest_.reductions[k].slot;
    lines_.add(3, "slot{} = from_first_lane(tree{}.result());", slot, k);
    if (schedule_.keeps_results)
      lines_.add(3, "if (lane == 0) put({}.data[{}], row, slot{});", given_, operands_of(nest_) + k, slot);
  }
  end(3);
}

void NestText::columns(const NestText* after, std::string_view after_symbol) const {
  begin(1);
  lines_.add(1, "__shared__ long long shared[kColumnThreads];");
  lines_.add(1, "const ColumnThread mine = column_thread(job);");
  lines_.add(1, "for (Count first = mine.first; first < job.units; first += mine.step) {{");
  lines_.add(2, "const ColumnUnit unit = column_unit(job, {}.length, first + mine.team, mine.x);", given_);
  rows_of_lane(2);
  for (std::size_t k = 0; k < nest_.columns.size(); ++k) {
    const Reduction& each = nest_.columns[k];
    lines_.mark(column_line(nest_, k));
    lines_.add(2, "const {} column{} = fold_down<{}>(lanes{}.all, shared, job, mine.y);",
               cuda_element(each.accumulator), each.slot, cuda_combine(each.combine), k);
  }
  lines_.add(2, "if (unit.is_there && mine.y == 0) {{");
  if (after != nullptr) {
    lines_.add(3, "if (job.blocks == 1) {{  // {}(columns)", after_symbol);
    after->begin(4);
    lines_.add(4, "const Count i = unit.output;");
    after->instructions(4, "0", true);
    after->one_element(4);
    after->end(4);
    lines_.add(3, "}} else {{");
    results_of_columns(4);
    lines_.add(3, "}}");
  } else {
    results_of_columns(3);
  }
  lines_.add(2, "}}");
  lines_.add(1, "}}");
  end(1);
}

// The rows of each lane that a thread has, in turn, and what each lane comes to.
void NestText::rows_of_lane(int depth) const {
  lines_.add(depth, "Count start[{0}], at[{0}];", operands_of(nest_));
  lines_.add(depth, "places_at({0}.inner, {0}.length, unit.column, start);", given_);
  for (std::size_t k = 0; k < nest_.columns.size(); ++k)
    lines_.add(depth, "LaneTotals<{}, {}> lanes{};", cuda_combine(nest_.columns[k].combine),
               cuda_element(nest_.columns[k].accumulator), k);
  lines_.add(depth, "for (int turn = 0; turn < job.each; ++turn) {{");
  for (std::size_t k = 0; k < nest_.columns.size(); ++k) start_total(depth + 1, nest_.columns[k], k);
  if (cost_of(nest_) <= kWorthUnrolling && nest_.stores.empty()) lines_.add(0, "#pragma unroll 4");
  lines_.add(depth + 1,
             "for (Count row = unit.row + lane_of(job, mine.y, turn); row < unit.end; row += kLanes) {{");
  lines_.add(depth + 2, "places_at({0}.outer, {0}.rows, row, at);", given_);
  lines_.add(depth + 2, "for (int k = 0; k < {}; ++k) at[k] += start[k];", operands_of(nest_));
  for (std::size_t i = 0; i < nest_.body.size(); ++i) instruction(depth + 2, i, "at");
  stores(depth + 2, "at", false);
  for (std::size_t k = 0; k < nest_.columns.size(); ++k)
    take_total(depth + 2, nest_.columns[k], k, column_line(nest_, k));
  lines_.add(depth + 1, "}}");
  for (std::size_t k = 0; k < nest_.columns.size(); ++k)
    lines_.add(depth + 1, "lanes{0}.take(turn, total{0});", k);
  lines_.add(depth, "}}");
}
void NestText::results_of_columns(int depth) const {
  for (std::size_t k = 0; k < nest_.columns.size(); ++k)
    lines_.add(depth, "put({}.data[{}], unit.output * job.blocks + unit.block, column{});", given_,
               operands_of(nest_) + k, nest_.columns[k].slot);
}

// A bit for each instruction that may refuse an element.
void NestText::begin(int depth) const {
  lines_.add(depth, "[[maybe_unused]] unsigned unused = 0;");
  for (std::size_t word = 0; word * kBits < refusing_.size(); ++word)
    lines_.add(depth, "unsigned long long failed{} = 0;", word);
}
void NestText::end(int depth) const {
  for (std::size_t word = 0; word * kBits < refusing_.size(); ++word)
    lines_.add(depth, "if (failed{0} != 0) refuse({1}, {2} + __ffsll(failed{0}));", word, given_,
               static_cast<int>(word * kBits) - 1);
}
void NestText::tell(int depth, std::size_t index) const {
  const auto place = std::ranges::find(refusing_, index);
  if (place == refusing_.end()) return;
  const auto number = static_cast<std::size_t>(place - refusing_.begin());
  lines_.add(depth, "if (bad{} != 0) failed{} |= 1ULL << {};", index, number / kBits, number % kBits);
}

void NestText::row_begins(int depth) const {
  lines_.add(depth, "Count start[{0}], at[{0}];", operands_of(nest_));
  lines_.add(depth, "places_at({0}.outer, {0}.rows, row, start);", given_);
  instructions(depth, "start", true);
}
// The elements of the block that begins at `first`.
void NestText::block(int depth) const {
  for (std::size_t k = 0; k < nest_.reductions.size(); ++k) start_total(depth, nest_.reductions[k], k);
  const bool any =
      std::any_of(nest_.stores.begin(), nest_.stores.end(), [](const Store& each) { return !each.per_row; });
  if (!any && nest_.reductions.empty()) return;
  lines_.add(depth, "const Count end = {0}.length < first + kBlock ? {0}.length : first + kBlock;", given_);
  lines_.add(depth, "for (Count i = first + lane; i < end; i += kLanes) {{");
  lines_.add(depth + 1, "places_at({0}.inner, {0}.length, i, at);", given_);
  lines_.add(depth + 1, "for (int k = 0; k < {}; ++k) at[k] += start[k];", operands_of(nest_));
  instructions(depth + 1, "at", false);
  stores(depth + 1, "at", false);
  for (std::size_t k = 0; k < nest_.reductions.size(); ++k)
    take_total(depth + 1, nest_.reductions[k], k, reduction_line(nest_, k));
  lines_.add(depth, "}}");
}
void NestText::start_total(int depth, const Reduction& reduction, std::size_t k) const {
  lines_.add(depth, "{0} total{1} = {2}::identity<{0}>();", cuda_element(reduction.accumulator), k,
             cuda_combine(reduction.combine));
}
void NestText::take_total(int depth, const Reduction& reduction, std::size_t k, std::size_t line) const {
  lines_.mark(line);
  lines_.add(depth, "total{0} = {1}::combine(total{0}, {2});", k, cuda_combine(reduction.combine),
             in(reduction.value, compute_of(reduction.accumulator)));
}
void NestText::fold(int depth, std::size_t k) const {
  lines_.mark(reduction_line(nest_, k));
  lines_.add(depth, "total{0} = fold<{1}>(total{0});", k, cuda_combine(nest_.reductions[k].combine));
}

// Those that are the same for all elements, or for those of a row; or those that are not.
void NestText::instructions(int depth, std::string_view places, bool invariant) const {
  for (std::size_t i = 0; i < nest_.body.size(); ++i) {
    if (nest_.body[i].invariant == invariant) instruction(depth, i, places);
  }
}
void NestText::stores(int depth, std::string_view places, bool per_row) const {
  for (std::size_t k = 0; k < nest_.stores.size(); ++k) {
    if (nest_.stores[k].per_row != per_row) continue;
    lines_.mark(store_line(nest_, k));
    lines_.add(depth, "put({0}.data[{1}], {2}[{1}], r{3});", given_, nest_.loads.size() + k, places,
               nest_.stores[k].value);
  }
}
void NestText::per_row_stores(int depth, std::string_view condition) const {
  if (std::none_of(nest_.stores.begin(), nest_.stores.end(), [](const Store& each) { return each.per_row; }))
    return;
  lines_.add(depth, "if ({}) {{", condition);
  stores(depth + 1, "start", true);
  lines_.add(depth, "}}");
}

void NestText::instruction(int depth, std::size_t index, std::string_view places) const {
  const Instruction& step = nest_.body[index];
  lines_.mark(index);
  if (std::ranges::find(refusing_, index) != refusing_.end()) lines_.add(depth, "unsigned bad{} = 0;", index);
  lines_.add(depth, "const {} r{} = {};", cuda_element(step.dtype), index, value(step, index, places));
  tell(depth, index);
}

std::string NestText::value(const Instruction& step, std::size_t index, std::string_view places) const {
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
                                         first_slot_of(nest_) + static_cast<std::size_t>(step.index));
    case Instruction::Kind::Apply:
      return apply(step, index);
    case Instruction::Kind::Convert:
      break;
  }
  const Register from = step.operands[0];
  return fmt::format("scalar::convert<{}>({})", cuda_element(step.dtype), in(from, compute_of(dtype(from))));
}

std::string NestText::read(const Instruction& step, std::size_t index, std::string_view places) const {
  const char* const type = cuda_element(step.dtype);
  const Load& load = nest_.loads[static_cast<std::size_t>(step.index)];
  if (places == kInVectors && is_loaded_in_vectors(load)) return fmt::format("loaded{}.at[i]", step.index);
  if (places == kInTiles && is_loaded_in_vectors(load))
    return fmt::format("tile_element<{0}>(slots, job, {1}, x, y, {2}.data[{1}], at[{1}])", type, step.index,
                       given_);
  if (places == kInTiles) return read(step, index, "at");
  if (load.drawn != nullptr) {
    const std::string place = places == kInVectors
                                  ? fmt::format("at[{0}] + i * {1}.inner.strides[{0}][0]", step.index, given_)
                                  : fmt::format("{}[{}]", places, step.index);
    return fmt::format("drawn<{}>({}.numbers + {}, {})", drawn_type(load), given_,
                       first_word_of(nest_, static_cast<std::size_t>(step.index)), place);
  }
  if (load.gather != nullptr) return gathered(load, step, index, places);
  if (load.column >= 0 && in_registers_) return fmt::format("column{}", load.column);
  if (load.is_number) return fmt::format("number<{}>({}.data[{}])", type, given_, step.index);
  if (places == "0") return fmt::format("element<{}>({}.data[{}], 0)", type, given_, step.index);
  return fmt::format("element<{0}>({1}.data[{2}], {3}[{2}])", type, given_, step.index, places);
}

// Where an index is refused, an element that nothing depends on.
std::string NestText::gathered(const Load& load, const Instruction& step, std::size_t index,
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
  return fmt::format("picked<{}>({}.data[{}], {}, bad{})", cuda_element(step.dtype), given_, k, place, index);
}

std::string NestText::apply(const Instruction& step, std::size_t index) const {
  const Pointwise& row = *step.op->pointwise;
  std::string operands;
  for (std::size_t k = 0; k < step.operands.size(); ++k) {
    const Register from = step.operands[k];
    operands += (static_cast<int>(k) == row.mask ? fmt::format("r{}", from) : in(from, step.compute)) + ", ";
  }
  return fmt::format("scalar::convert<{}>(scalar::{}::apply({}Params{{{}}}, {}))", cuda_element(step.dtype),
                     cuda::row_name(row.row), operands, params_text(step.params),
                     step.failure >= 0 ? fmt::format("bad{}", index) : "unused");
}

// A register as the arithmetic reads it.
std::string NestText::in(Register from, Compute compute) const {
  const std::string wide = fmt::format("scalar::widen(r{})", from);
  return compute_of(dtype(from)) == compute
             ? wide
             : fmt::format("scalar::convert<{}>({})", cuda::compute_name(compute), wide);
}

}  // namespace kiln::jit
