// Lowers reductions and the nodes before and after them to passes over each row, and one over the columns.
#include <algorithm>
#include <numeric>

#include "jit/loops/lower.h"
#include "jit/loops/nest_builder.h"
#include "tensor/compute.h"
#include "tensor/ops/pointwise.h"
#include "tensor/ops/reduce.h"

namespace kiln::jit {
namespace {

// A later pass recomputes a value of so few steps, if it reads their operands anyway, instead of keeping it.
constexpr int kMostRecomputed = 6;

class RowLowerer {
 public:
  RowLowerer(const Graph& graph, const Group& group, std::string name)
      : graph_(graph),
        group_(group),
        name_(std::move(name)),
        producers_(graph.producers()),
        kept_rows_(group.space.kept_rows()),
        row_sizes_(group.space.row_sizes()) {
    const Levels levels = find_levels(graph, group.nodes, group.space);
    for (std::size_t k = 0; k < group.nodes.size(); ++k) levels_.emplace(group.nodes[k], levels.of[k]);
    for (const int place : group.nodes) settle(place);
  }

  Lowered run() {
    for (const ValueId id : group_.outputs) result_.outputs.push_back({type(id).dtype, type(id).sizes});
    int last = 0;
    for (const ValueId id : group_.outputs) last = std::max(last, pass(id));
    for (const auto& [place, slot] : slots_) last = std::max(last, pass(operand(place)));
    for (const auto& [place, column] : columns_) last = std::max(last, pass(operand(place)));
    result_.passes.resize(static_cast<std::size_t>(last) + 1);
    for (int p = last; p >= 0; --p) build(p);  // later passes decide which values earlier ones keep
    share_buffers();
    if (!columns_.empty()) build_columns();
    result_.column_rank = group_.space.column_rank;
    return std::move(result_);
  }

 private:
  const Node& node(int place) const { return graph_.nodes[static_cast<std::size_t>(place)]; }
  const Type& type(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].type; }
  ValueId operand(int place) const { return node(place).operands[0].value; }
  // The member that makes a value; -1 for a value from memory.
  int member(ValueId id) const {
    const int place = producers_[static_cast<std::size_t>(id)];
    return levels_.contains(place) ? place : -1;
  }
  bool reduces(int place) const { return node(place).op->lowering == Lowering::Reduce; }
  bool is_full(ValueId id) const { return member(id) >= 0 && levels_.at(member(id)) == Level::Element; }
  bool is_of_column(ValueId id) const { return member(id) >= 0 && levels_.at(member(id)) == Level::Column; }

  // The pass over the row that computes the value; for one number a row, the first pass that can read it.
  int pass(ValueId id) const {
    const auto found = passes_.find(id);
    return found == passes_.end() ? 0 : found->second;
  }
  void settle(int place) {
    if (levels_.at(place) == Level::Column) {
      if (reduces(place)) add(place, columns_, result_.columns);
      return;
    }
    int known = 0;
    for (const Operand& each : node(place).operands) {
      if (each.is_value()) known = std::max(known, pass(each.value));
    }
    if (reduces(place)) {
      add(place, slots_, result_.slots);
      ++known;
    }
    passes_[node(place).outputs[0]] = known;
  }
  void add(int place, std::map<int, int>& numbers, std::vector<Reduction>& all) const {
    const int number = static_cast<int>(all.size());
    numbers.emplace(place, number);
    all.push_back(
        {-1, node(place).op->lowering.as<lowering::Reduce>()->combine, accumulator(place), number, place});
  }

  // The accumulators of bools and integers hold their sum exactly, so elements are not converted before.
  DType combined_dtype(int place) const {
    const DType x = type(operand(place)).dtype, result = type(node(place).outputs[0]).dtype;
    return is_integer(result) && !is_float(x) ? x : kiln::combined_dtype(x, result);
  }
  DType accumulator(int place) const { return accumulator_of(combined_dtype(place)); }

  // How many cheap steps recompute a value from memory; more than kMostRecomputed if one is costly.
  int steps_to(ValueId id) const {
    const int place = member(id);
    if (place < 0 || !is_full(id)) return 0;
    const Pointwise* row = node(place).op->pointwise;
    if (node(place).op->lowering.as<lowering::Draw>()) return kMostRecomputed + 1;
    if (node(place).op->lowering.as<lowering::Gather>()) return 0;  // the pass before has read it
    if (row != nullptr && (row->rule == TypeRule::Float || !row->failure.empty())) return kMostRecomputed + 1;
    int steps = 1;
    for (const Operand& each : node(place).operands) {
      if (each.is_value()) steps += steps_to(each.value);
    }
    return std::min(steps, kMostRecomputed + 1);
  }
  int buffer(ValueId id) {
    const auto [found, fresh] = buffers_.try_emplace(id, static_cast<int>(result_.buffers.size()));
    if (fresh) result_.buffers.push_back(type(id).dtype);
    return found->second;
  }

  // The registers of values in one pass, made when they are asked for.
  class Values {
   public:
    Values(RowLowerer& all, int pass, NestBuilder& builder) : all_(all), pass_(pass), builder_(builder) {}

    // The operand `id` of a node whose results have the sizes `made`.
    Register at(ValueId id, const Dims& made) {
      const Dims* const of_rows = all_.member(id) < 0 ? all_.read_for_rows(id, made) : nullptr;
      const auto [found, fresh] = registers_.try_emplace({id, of_rows}, -1);
      if (fresh) {
        const Register read = make(id, of_rows);
        registers_[{id, of_rows}] = read;
        return read;
      }
      return found->second;
    }

   private:
    Register make(ValueId id, const Dims* of_rows) {
      const int place = all_.member(id);
      if (place < 0) return builder_.load(id, of_rows);
      if (all_.reduces(place)) {
        return builder_.reduced(all_.slots_.at(place), all_.accumulator(place), all_.type(id).dtype);
      }
      const bool full = all_.is_full(id);
      if (full && all_.pass(id) < pass_ && all_.steps_to(id) > kMostRecomputed)
        return builder_.kept(all_.buffer(id), all_.type(id).dtype);
      const Dims& made = all_.type(id).sizes;
      return builder_.node(place, [this, &made](ValueId operand) { return at(operand, made); });
    }

    RowLowerer& all_;
    int pass_;
    NestBuilder& builder_;
    std::map<std::pair<ValueId, const Dims*>, Register> registers_;
  };

  // The sizes of the rows (with dimensions of size 1 or without) of which a value from memory has one element
  // each, or broadcasts to for its reader. Null: it is read for each element, as also where no row is
  // reduced, since rows are then gone through as one.
  const Dims* read_for_rows(ValueId id, const Dims& made) const {
    if (slots_.empty()) return nullptr;
    const Dims& sizes = type(id).sizes;
    if (same(sizes, kept_rows_)) return &kept_rows_;
    if (same(made, group_.space.axes) || sizes.empty()) return nullptr;
    return same(made, kept_rows_) ? &kept_rows_ : &row_sizes_;
  }

  void build(int p) {
    LoopNest& nest = result_.passes[static_cast<std::size_t>(p)];
    nest.name = name_;
    nest.axes = group_.space.axes;
    nest.row_rank = group_.space.row_rank;
    NestBuilder builder(graph_, producers_, nest, result_.inputs);
    Values values(*this, p, builder);
    for (std::size_t k = 0; k < group_.outputs.size(); ++k) {
      const ValueId id = group_.outputs[k];
      if (pass(id) != p || is_of_column(id)) continue;
      nest.stores.push_back(
          {values.at(id, type(id).sizes), type(id).dtype, static_cast<int>(k), -1, !is_full(id), {}});
    }
    const auto take_in = [&](const std::map<int, int>& numbers, std::span<const Reduction> all,
                             std::vector<Reduction>& taken) {
      for (const auto& [place, number] : numbers) {
        if (pass(operand(place)) != p) continue;
        taken.push_back(all[static_cast<std::size_t>(number)]);
        taken.back().value = builder.converted(values.at(operand(place), nest.axes), combined_dtype(place));
      }
    };
    take_in(slots_, result_.slots, nest.reductions);
    take_in(columns_, result_.columns, nest.columns);
    for (const auto& [id, index] : buffers_) {
      if (pass(id) == p)
        nest.stores.push_back({values.at(id, nest.axes), type(id).dtype, -1, index, false, {}});
    }
  }

  // Lets buffers share memory. After the pass that reads a buffer last, later passes may keep another value
  // in it. That pass itself may not: its last vector overlaps the one before, and reads those elements again.
  void share_buffers() {
    struct Life {
      int kept = 0, read = 0;  // passes
    };
    std::vector<Life> lives(result_.buffers.size());
    for (std::size_t p = 0; p < result_.passes.size(); ++p) {
      for (const Store& each : result_.passes[p].stores) {
        if (each.buffer >= 0) lives[static_cast<std::size_t>(each.buffer)].kept = static_cast<int>(p);
      }
      for (const Load& each : result_.passes[p].loads) {
        if (each.buffer >= 0) lives[static_cast<std::size_t>(each.buffer)].read = static_cast<int>(p);
      }
    }
    std::vector<int> order(lives.size()), shared(lives.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return lives[static_cast<std::size_t>(a)].kept < lives[static_cast<std::size_t>(b)].kept;
    });
    std::vector<DType> buffers;
    std::vector<int> last_read;
    for (const int each : order) {
      const Life& life = lives[static_cast<std::size_t>(each)];
      const DType dtype = result_.buffers[static_cast<std::size_t>(each)];
      std::size_t place = 0;
      while (place < buffers.size() && (buffers[place] != dtype || last_read[place] >= life.kept)) ++place;
      if (place == buffers.size()) {
        buffers.push_back(dtype);
        last_read.push_back(0);
      }
      last_read[place] = life.read;
      shared[static_cast<std::size_t>(each)] = static_cast<int>(place);
    }
    const auto move = [&shared](int& buffer) {
      if (buffer >= 0) buffer = shared[static_cast<std::size_t>(buffer)];
    };
    for (LoopNest& pass : result_.passes) {
      for (Store& each : pass.stores) move(each.buffer);
      for (Load& each : pass.loads) move(each.buffer);
    }
    result_.buffers = std::move(buffers);
  }

  // Builds the nest of nodes that read results of columns. Each result is one element there.
  void build_columns() {
    LoopNest& nest = result_.passes.emplace_back();
    nest.name = name_;
    nest.axes = group_.space.kept_columns();
    NestBuilder builder(graph_, producers_, nest, result_.inputs);
    std::map<ValueId, Register> registers;
    const auto resolve = [&](ValueId id) {
      const auto [found, fresh] = registers.try_emplace(id, -1);
      if (fresh) found->second = builder.load(id);
      return found->second;
    };
    for (const int place : group_.nodes) {
      const ValueId id = node(place).outputs[0];
      if (!is_of_column(id)) continue;
      registers[id] = reduces(place) ? builder.column(columns_.at(place), accumulator(place), type(id).dtype)
                                     : builder.node(place, resolve);
    }
    for (std::size_t k = 0; k < group_.outputs.size(); ++k) {
      const ValueId id = group_.outputs[k];
      if (is_of_column(id))
        nest.stores.push_back({registers.at(id), type(id).dtype, static_cast<int>(k), -1, false, {}});
    }
  }

  const Graph& graph_;
  const Group& group_;
  std::string name_;
  std::vector<int> producers_;
  Dims kept_rows_, row_sizes_;
  std::map<int, Level> levels_;  // of the nodes
  std::map<ValueId, int> passes_;
  std::map<int, int> slots_;  // of reductions, by node
  std::map<int, int> columns_;
  std::map<ValueId, int> buffers_;
  Lowered result_;
};

}  // namespace

Lowered lower_rows(const Graph& graph, const Group& group, std::string name) {
  return RowLowerer(graph, group, std::move(name)).run();
}

}  // namespace kiln::jit
