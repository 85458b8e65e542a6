#include "jit/loops/fuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "jit/graph/filled.h"
#include "jit/graph/product_before.h"
#include "jit/graph/text.h"
#include "jit/loops/lower.h"
#include "jit/loops/shifted_reads.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {
namespace {

class Grouper {
 public:
  // `limited`, by node: whether a kernel with it takes few enough tensors after each node that joins, not
  // only when all have joined.
  Grouper(const Graph& graph, bool with_reasons, const std::vector<bool>& limited)
      : graph_(graph),
        with_reasons_(with_reasons),
        limited_(limited),
        products_(graph),
        producers_(graph.producers()),
        readers_(graph.nodes.size()),
        values_read_(graph.nodes.size()),
        reads_(graph.nodes.size()),
        work_(graph.nodes.size(), 1),
        leader_(graph.nodes.size()) {
    std::iota(leader_.begin(), leader_.end(), 0);
    for (const Operand& each : graph.outputs) kept_.insert(each.value);
    kept_.insert(graph.saved.begin(), graph.saved.end());
    for (const Effect& each : graph.effects) kept_.insert(each.value);
    connect();
    if (with_reasons) {
      for (const ShiftedRead& each : shifted_reads(graph))
        shifted_.emplace(each.value, why_not_computed_again(each));
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      members_.push_back({static_cast<int>(i)});
      examine(static_cast<int>(i));
      const int before = i == 0 ? -1 : alone_before_.back();
      alone_before_.push_back(i > 0 && runs_alone(static_cast<int>(i) - 1) ? static_cast<int>(i) - 1
                                                                           : before);
    }
  }

  Fusion run() {
    for (int place = 0; place < static_cast<int>(graph_.nodes.size()); ++place) {
      for (const ValueId id : read_by(place)) join(producer(id), place);
    }
    while (join_again()) {
    }
    join_readers();
    for (int place = 0; place < static_cast<int>(graph_.nodes.size()); ++place) {
      if (placed_view(graph_, node(place)) != nullptr) place_into(place);
    }
    collect();
    return std::move(fusion_);
  }
  // The nodes of kernels that read and make more tensors than one may, after `run`.
  std::vector<int> in_too_many_tensors() {
    std::vector<int> found;
    for (const std::vector<int>& nodes : members_) {
      if (nodes.size() > 1 && has_too_many_tensors(nodes[0], nodes[0]))
        found.insert(found.end(), nodes.begin(), nodes.end());
    }
    return found;
  }

 private:
  const Node& node(int place) const { return graph_.nodes[static_cast<std::size_t>(place)]; }
  int producer(ValueId id) const { return producers_[static_cast<std::size_t>(id)]; }
  int leader(int place) const { return leader_[static_cast<std::size_t>(place)]; }
  const std::vector<int>& members(int place) const {
    return members_[static_cast<std::size_t>(leader(place))];
  }
  std::int64_t work(int place) const { return work_[static_cast<std::size_t>(leader(place))]; }
  const Space& space(int place) const { return spaces_[static_cast<std::size_t>(leader(place))]; }
  const Type& type_of(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].type; }
  const Dims& sizes(int place) const { return type_of(node(place).outputs[0]).sizes; }
  Device device(int place) const { return type_of(node(place).outputs[0]).device; }
  // Of the device of a node that can be in a kernel.
  const KernelLimits& limits(int place) const { return targets_[static_cast<std::size_t>(place)]->limits; }

  void examine(int place) {
    Space space{sizes(place), 0, 0};
    std::string why = why_not_lowered(graph_, node(place));
    targets_.push_back(target_of(type_of(node(place).outputs[0]).device));
    if (!node(place).is_constant() && node(place).op->lowering == Lowering::Reduce && why.empty()) {
      why = space_of_reduction(graph_, node(place), space);
      if (why.empty()) why = why_not_worth_it(place, space);
    }
    if (!node(place).is_constant()) work_[static_cast<std::size_t>(place)] = work_of(*node(place).op);
    why_not_.push_back(std::move(why));
    spaces_.push_back(std::move(space));
  }
  std::string why_not_worth_it(int place, const Space& space) const {
    const KernelLimits& limits = this->limits(place);
    const std::int64_t all = count_elements(evaluate(space.axes, graph_.hints));
    if (space.column_rank > 0 && all < limits.column_elements)
      return "its columns are few elements: they stay in cache";
    if (!has_short_rows(space, graph_.hints, limits.short_row)) return "";
    if (count_elements(evaluate(space.row_sizes(), graph_.hints)) < limits.few_rows)
      return "its rows are short and few";
    if (!has_row_of_fixed_size(space)) return "its rows are short, and may be long in another call";
    return is_read_back(place, space.axes) ? "" : "its rows are short, and are not gone through again";
  }
  // Does a node that depends on the reduction read the reduced elements again, as in softmax?
  bool is_read_back(int place, const Dims& axes) const {
    const auto& readers = values_read_[static_cast<std::size_t>(place)];
    return std::any_of(readers.begin(), readers.end(), [&](int reader) {
      const bool is_pointwise =
          !node(reader).is_constant() && node(reader).op->lowering == Lowering::Pointwise;
      return is_pointwise && (same(sizes(reader), axes) || is_read_back(reader, axes));
    });
  }
  bool is_lowered(int place) const { return why_not_[static_cast<std::size_t>(place)].empty(); }

  const std::vector<ValueId>& read_by(int place) const { return reads_[static_cast<std::size_t>(place)]; }

  // Finds the values that each node reads of others, and the nodes that wait for it: readers of its results,
  // and after a random draw the next one, since their order is fixed.
  void connect() {
    int last_draw = -1;
    for (int place = 0; place < static_cast<int>(graph_.nodes.size()); ++place) {
      std::vector<ValueId>& read = reads_[static_cast<std::size_t>(place)];
      for (const Operand& each : node(place).operands) {
        const bool again = std::find(read.begin(), read.end(), each.value) != read.end();
        if (each.is_value() && producer(each.value) >= 0 && !again) read.push_back(each.value);
      }
      for (const ValueId id : read) {
        readers_[static_cast<std::size_t>(producer(id))].push_back(place);
        values_read_[static_cast<std::size_t>(producer(id))].push_back(place);
      }
      if (node(place).is_constant() || !node(place).op->is_ordered()) continue;
      if (last_draw >= 0) readers_[static_cast<std::size_t>(last_draw)].push_back(place);
      last_draw = place;
    }
  }

  // The reason why the two stay apart; empty when they can be one kernel.
  std::string_view why_apart(int from, int to) {
    if (!is_lowered(from)) return why_not_[static_cast<std::size_t>(from)];
    if (!is_lowered(to)) return why_not_read(from, to);
    if (device(from) != device(to)) return "they are on different devices";
    if (reads_own(from, to)) return "it reads at computed places what the same kernel makes";
    if (const std::string_view why = why_not_one_space(from, to); !why.empty()) return why;
    if (draws(from, to) && may_fail(from, to)) return "an error would leave other draws behind";
    if (work(from) + work(to) > limits(from).work || is_limited_here(from, to) ||
        has_many_failing(from, to)) {
      return "the kernel would be too large";
    }
    if (lies_between(from, to)) return "something that cannot be fused lies between";
    if (keeps_more(from, to)) return "what the first reads would be kept until the second can run";
    if (gives_early(from, to))
      return "what the second gives would be kept until it is read, long after the first";
    return "";
  }

  std::string_view why_not_read(int from, int to) const {
    const auto shifted = shifted_.find(node(from).outputs[0]);
    return shifted != shifted_.end() && node(to).is_view() ? shifted->second
                                                           : why_not_[static_cast<std::size_t>(to)];
  }

  // The iteration space of one kernel of both, whose reductions agree.
  static Space joined(const Space& a, const Space& b) {
    return {a.reduces() ? a.axes : b.axes, std::max(a.row_rank, b.row_rank),
            std::max(a.column_rank, b.column_rank)};
  }
  static bool agree(const Space& a, const Space& b) {
    const auto same = [](int x, int y) { return x == 0 || y == 0 || x == y; };
    return same(a.row_rank, b.row_rank) && same(a.column_rank, b.column_rank);
  }
  std::string_view why_not_one_space(int from, int to) {
    const Space &a = space(from), &b = space(to);
    if (same(a.axes, b.axes) && !agree(a, b)) return "they reduce other dimensions";
    const bool for_each_row = a.reduces() && (same(b.axes, a.kept_rows()) || same(b.axes, a.row_sizes()));
    const bool for_each_column =
        a.column_rank > 0 && (same(b.axes, a.kept_columns()) || same(b.axes, a.column_sizes()));
    const bool on_results = for_each_row || for_each_column;
    if (!same(a.axes, b.axes) && on_results && b.reduces()) return "what a reduction gives is reduced again";
    if (!same(a.axes, b.axes) && !on_results) {
      if (!with_reasons_) return "it would be computed again";
      return sentence_ = fmt::format("{} is read over {}: it would be computed again for each of those",
                                     text_of(sizes(from)), text_of(b.axes));
    }
    const Space both = joined(a, b);
    const std::int64_t short_row = limits(from).short_row;
    if (both.column_rank > 0 &&
        (has_short_rows(a, graph_.hints, short_row) || has_short_rows(b, graph_.hints, short_row)))
      return "short rows are interleaved, columns go row by row";
    if (!both.reduces()) return "";
    return sentence_ = find_levels(graph_, members_of(from, to), both).why_not;
  }
  template <class F>
  bool any_member(int from, int to, const F& f) const {
    const auto any = [&](int of) { return std::any_of(members(of).begin(), members(of).end(), f); };
    return any(from) || any(to);
  }
  bool draws(int from, int to) const {
    return any_member(from, to,
                      [this](int each) { return node(each).op->lowering.as<lowering::Draw>() != nullptr; });
  }
  bool may_fail(int from, int to) const {
    return any_member(from, to, [this](int each) {
      return is_gather(each) ? node(each).op->may_fail() : may_fail_for_an_element(each);
    });
  }
  bool may_fail_for_an_element(int place) const {
    return node(place).op->pointwise != nullptr && !node(place).op->pointwise->failure.empty();
  }
  // More nodes that may fail than a kernel has bits for? Each of them is costly.
  bool has_many_failing(int from, int to) const {
    if (work(from) + work(to) <= kMostFailures * kCostly) return false;
    const auto count = [this](int of) {
      return std::count_if(members(of).begin(), members(of).end(),
                           [this](int each) { return may_fail_for_an_element(each); });
    };
    return count(from) + count(to) > kMostFailures;
  }
  bool is_gather(int place) const { return is_gather_load(graph_, node(place)); }
  // Does a gather load read a result of its own group? Its operands must be in memory when the kernel begins.
  bool reads_own(int from, int to) const {
    return any_member(from, to, [&](int each) {
      if (!is_gather(each)) return false;
      const std::vector<ValueId> read = read_by(each);
      return std::any_of(read.begin(), read.end(), [&](ValueId id) {
        const int made_by = producer(memory_of(id));
        return made_by >= 0 && (leader(made_by) == leader(from) || leader(made_by) == leader(to));
      });
    });
  }
  std::vector<int> members_of(int from, int to) const {
    std::vector<int> all;
    std::merge(members(from).begin(), members(from).end(), members(to).begin(), members(to).end(),
               std::back_inserter(all));
    return all;
  }

  void join(int from, int to) {
    if (is_lowered(to) && !is_gather(to) && filled_with(node(from))) return;  // a number within the kernel
    if (const std::string_view reason = join_or_why_not(from, to); !reason.empty())
      fusion_.unfused.push_back({from, to, told(reason)});
  }
  std::string_view join_or_why_not(int from, int to) {
    if (leader(from) == leader(to)) return "";
    const std::string_view reason = why_apart(from, to);
    if (reason.empty()) merge(from, to, joined(space(from), space(to)));
    return reason;
  }
  std::string told(std::string_view reason) const { return with_reasons_ ? std::string(reason) : ""; }
  // Tries pairs that stayed apart again: a node between the two may have joined one of them. False: none
  // joined.
  bool join_again() {
    std::vector<Unfused> apart;
    for (Unfused& each : fusion_.unfused) {
      const std::string_view reason = join_or_why_not(each.producer, each.consumer);
      if (!reason.empty()) apart.push_back({each.producer, each.consumer, told(reason)});
    }
    std::swap(fusion_.unfused, apart);
    return fusion_.unfused.size() < apart.size();
  }
  void merge(int from, int to, Space both) {
    const int kept = std::min(leader(from), leader(to)), gone = std::max(leader(from), leader(to));
    work_[static_cast<std::size_t>(kept)] += work_[static_cast<std::size_t>(gone)];
    auto& all = members_[static_cast<std::size_t>(kept)];
    for (const int each : members_[static_cast<std::size_t>(gone)]) {
      leader_[static_cast<std::size_t>(each)] = kept;
      all.push_back(each);
    }
    members_[static_cast<std::size_t>(gone)].clear();
    std::sort(all.begin(), all.end());
    spaces_[static_cast<std::size_t>(kept)] = std::move(both);
  }

  // Joins a reduction of a tensor in memory with another kernel that reads all of that tensor anyway.
  void join_readers() {
    std::map<ValueId, std::vector<int>> readers;  // of values in memory
    for (int place = 0; place < static_cast<int>(graph_.nodes.size()); ++place) {
      if (!is_lowered(place) || is_gather(place)) continue;
      for (const Operand& each : node(place).operands) {
        const bool in_memory =
            each.is_value() && (producer(each.value) < 0 || !is_lowered(producer(each.value)));
        if (in_memory && same(type_of(each.value).sizes, space(place).axes))
          readers[each.value].push_back(place);
      }
    }
    for (const auto& [id, places] : readers) {
      for (const int each : places) {
        const int first = places.front();
        const Space &a = space(first), &b = space(each);
        const bool may_gain =
            leader(first) != leader(each) && same(a.axes, b.axes) && (a.reduces() || b.reduces());
        if (may_gain && why_apart(first, each).empty() && !lies_between(each, first))
          merge(first, each, joined(a, b));
      }
    }
  }

  // Joins a scatter that replaces part of a tensor by a kernel's result: the kernel stores the result in that
  // part. This comes last, since a scatter is not over the kernel's axes, as other members must be.
  void place_into(int place) {
    const ValueId source = node(place).operands[1].value;
    const int from = producer(source);
    if (from < 0 || is_kept(source) || values_read_[static_cast<std::size_t>(from)].size() != 1) return;
    const int around = producer(node(place).operands[0].value);
    if (around >= 0 && leader(around) == leader(from)) return;
    const bool is_placed = placed_view(graph_, node(from)) != nullptr && leader(from) != from;
    if ((!is_lowered(from) && !is_placed) || space(from).reduces()) return;
    // A part within a part: the kernel copies the elements around the inner part, and converts the value
    // once.
    if (is_placed && type_of(source).dtype != type_of(node(place).outputs[0]).dtype) return;
    if (device(from) != device(place) || is_limited_here(from, place)) return;
    if (lies_between(from, place)) return;
    merge(from, place, space(from));
  }
  bool is_kept(ValueId id) const { return kept_.contains(id); }

  bool has_too_many_tensors(int from, int to) { return values_of(from, to) > limits(from).values; }
  bool is_limited_here(int from, int to) {
    return any_member(from, to, [this](int each) { return limited_[static_cast<std::size_t>(each)]; }) &&
           has_too_many_tensors(from, to);
  }
  // The most tensors that one kernel of both would read and write.
  std::size_t values_of(int from, int to) {
    enum : std::uint8_t { kRead = 1, kMade = 2 };
    uses_.resize(graph_.values.size(), 0);
    std::vector<ValueId> met;
    const auto note = [&](ValueId id, std::uint8_t use) {
      std::uint8_t& all = uses_[static_cast<std::size_t>(id)];
      if (all == 0) met.push_back(id);
      all |= use;
    };
    for (const int each : {from, to}) {
      for (const int member : members(each)) {
        note(node(member).outputs[0], kMade);
        for (const Operand& operand : node(member).operands) {
          if (operand.is_value()) note(operand.value, kRead);
        }
      }
    }
    std::size_t count = 0;
    for (const ValueId id : met) {
      std::uint8_t& all = uses_[static_cast<std::size_t>(id)];
      const bool is_made = (all & kMade) != 0;
      count += !is_made || is_needed_outside(id, from, to) ? 1 : 0;
      all = 0;
    }
    return count;
  }
  bool is_needed_outside(ValueId id, int from, int to) const {
    const auto& readers = values_read_[static_cast<std::size_t>(producer(id))];
    return readers.empty() || std::any_of(readers.begin(), readers.end(), [&](int reader) {
             return leader(reader) != leader(from) && leader(reader) != leader(to);
           });
  }

  // Would the operands of the first kernel take memory for longer? Where the second one waits for more nodes,
  // as for the next of many products that are summed up, the first would wait with it. Until then its
  // operands stay in memory instead of its results.
  bool keeps_more(int from, int to) const {
    if (last_awaited(to, from) <= last_awaited(from, from)) return false;
    std::int64_t given = 0;
    for (const int member : members(from)) {
      const ValueId made = node(member).outputs[0];
      if (is_needed_outside(made, from, from)) given += bytes_of(made);
    }
    return bytes_released(from) - given >= limits(from).kept_bytes;
  }
  // The bytes that are released after the kernel: of values that others compute and only this kernel reads.
  std::int64_t bytes_released(int kernel) const {
    std::set<ValueId> read;
    for (const int member : members(kernel)) {
      for (const ValueId each : read_by(member)) {
        const ValueId id = memory_of(each);
        const bool is_computed = producer(id) >= 0 && leader(producer(id)) != leader(kernel);
        if (is_computed && !is_kept(id) && !is_needed_outside(id, kernel, kernel)) read.insert(id);
      }
    }
    return std::accumulate(read.begin(), read.end(), std::int64_t{0},
                           [this](std::int64_t sum, ValueId id) { return sum + bytes_of(id); });
  }
  // Would the results of the second kernel take memory too early? Where it waits for no more nodes than the
  // first, but products come between, as where a derivative is computed from the first one's results, it
  // would run long before its results are read. These would stay in memory beside its operands, and be
  // written and read in place of them.
  bool gives_early(int from, int to) const {
    if (!runs_between(std::max(members(from).back(), last_awaited(to, from)), members(to).front()))
      return false;
    std::int64_t given = 0, passed = 0;
    for (const int member : members(to)) {
      const ValueId made = node(member).outputs[0];
      if (!is_kept(made) && is_needed_outside(made, to, to)) given += bytes_of(made);
      for (const ValueId read : read_by(member)) {
        if (leader(producer(read)) == leader(from)) passed += bytes_of(read);
      }
    }
    return given - bytes_released(to) >= limits(from).kept_bytes && 2 * given >= passed;
  }
  bool runs_alone(int place) const {
    return !is_lowered(place) && !node(place).is_constant() && !node(place).is_view();
  }
  // Is a node between these places in no kernel, though it takes memory or time?
  bool runs_between(int first, int last) const {
    return first < last && alone_before_[static_cast<std::size_t>(last)] > first;
  }
  // The last node that the kernel waits for, among those in neither of the two kernels.
  int last_awaited(int kernel, int other) const {
    int last = -1;
    for (const int member : members(kernel)) {
      for (const ValueId id : read_by(member)) {
        const int from = producer(memory_of(id));
        if (from >= 0 && leader(from) != leader(kernel) && leader(from) != leader(other))
          last = std::max(last, from);
      }
    }
    return last;
  }
  // The value that a view is a view of. Views take neither time nor memory.
  ValueId memory_of(ValueId id) const {
    while (producer(id) >= 0 && node(producer(id)).is_view()) id = node(producer(id)).operands[0].value;
    return id;
  }
  std::int64_t bytes_of(ValueId id) const {
    const Type& type = graph_.values[static_cast<std::size_t>(id)].type;
    return count_elements(evaluate(type.sizes, graph_.hints)) *
           static_cast<std::int64_t>(size_of(type.dtype));
  }

  // Does a path lead from one kernel to the other through a third node? One kernel of both could not run
  // then.
  bool lies_between(int from, int to) const {
    std::vector<bool> seen(graph_.nodes.size(), false);
    std::vector<int> open;
    const auto visit = [&](int kernel) {  // opens all nodes that wait for a member
      for (const int member : members(kernel)) {
        for (const int reader : readers_[static_cast<std::size_t>(member)]) {
          const auto group = static_cast<std::size_t>(leader(reader));
          if (seen[group] || leader(reader) == leader(kernel)) continue;
          if (leader(reader) == leader(to) && leader(kernel) == leader(from)) continue;
          seen[group] = true;
          open.push_back(reader);
        }
      }
    };
    visit(from);
    while (!open.empty()) {
      const int next = open.back();
      open.pop_back();
      if (leader(next) == leader(to)) return true;
      visit(next);
    }
    return false;
  }

  // Is the node's result written to an input that the node reads? A kernel computes it in the input's memory
  // at the graph's end, while an op takes memory for it.
  bool updates(int place) const {
    if (!is_lowered(place) || node(place).op->lowering != Lowering::Pointwise || may_fail(place, place))
      return false;
    const ValueId made = node(place).outputs[0];
    const auto& operands = node(place).operands;
    return std::any_of(graph_.effects.begin(), graph_.effects.end(), [&](const Effect& each) {
      return each.kind == Effect::Kind::Write && each.value == made && each.member < 0 &&
             graph_.is_input(each.input) && type_of(each.input) == type_of(made) &&
             std::count(operands.begin(), operands.end(), Operand::of(each.input)) > 0;
    });
  }
  // Is the node worth a kernel of its own, as the epilogue of a large product?
  bool takes_product(int place) const {
    if (!is_lowered(place) || node(place).op->lowering != Lowering::Pointwise || may_fail(place, place))
      return false;
    const int product = products_.of(place);
    return product >= 0 && bytes_of(node(product).outputs[0]) >= limits(place).epilogue_bytes;
  }

  void collect() {
    std::erase_if(fusion_.unfused,
                  [this](const Unfused& each) { return leader(each.producer) == leader(each.consumer); });
    fusion_.group_of.assign(graph_.nodes.size(), -1);
    for (const std::vector<int>& nodes : members_) {
      if (nodes.empty() || (nodes.size() == 1 && !takes_product(nodes[0]) && !updates(nodes[0]))) continue;
      for (const int each : nodes)
        fusion_.group_of[static_cast<std::size_t>(each)] = static_cast<int>(fusion_.groups.size());
      fusion_.groups.push_back(
          {nodes, space(nodes.front()), {}, targets_[static_cast<std::size_t>(nodes.front())], -1});
    }
    for (Group& group : fusion_.groups) {
      for (const int each : group.nodes) {
        const auto& readers = values_read_[static_cast<std::size_t>(each)];
        const ValueId id = node(each).outputs[0];
        // A node that nothing reads is in the graph because it may fail.
        const bool outside = readers.empty() || std::any_of(readers.begin(), readers.end(), [&](int reader) {
                               return leader(reader) != leader(each);
                             });
        if (outside || is_kept(id)) group.outputs.push_back(id);
      }
    }
  }

  const Graph& graph_;
  bool with_reasons_;
  const std::vector<bool>& limited_;
  std::map<ValueId, std::string> shifted_;  // why values that are read at shifted places are stored
  ProductsBefore products_;
  std::string sentence_;            // the latest reason with numbers in it
  std::vector<std::uint8_t> uses_;  // by value: its uses in the kernel at hand; else 0
  std::vector<int> producers_;
  std::vector<std::vector<int>> readers_;      // by node: those that wait for it
  std::vector<std::vector<int>> values_read_;  // by node: those of them that read its results
  std::set<ValueId> kept_;                     // values that the caller gets
  std::vector<std::vector<ValueId>> reads_;    // by node: values of other nodes that it reads
  std::vector<int> alone_before_;          // the last node before each that belongs to no kernel; -1: none
  std::vector<std::int64_t> work_;         // by leader
  std::vector<std::string> why_not_;       // by node: why it cannot be in a kernel; empty: it can
  std::vector<const Target*> targets_;     // by node: of its device; null: none compiles for that
  std::vector<Space> spaces_;              // by leader
  std::vector<int> leader_;                // by node: the first node of its kernel
  std::vector<std::vector<int>> members_;  // by leader
  Fusion fusion_;
};

}  // namespace

// A long chain reads and makes many tensors until its last nodes have joined, and few then. So the limit on
// them is first left out. It holds from the start for nodes that came to too many without it.
Fusion find_groups(const Graph& graph, bool with_reasons) {
  std::vector<bool> limited(graph.nodes.size(), false);
  while (true) {
    Grouper grouper(graph, with_reasons, limited);
    Fusion fusion = grouper.run();
    bool is_new = false;
    for (const int each : grouper.in_too_many_tensors()) {
      is_new = is_new || !limited[static_cast<std::size_t>(each)];
      limited[static_cast<std::size_t>(each)] = true;
    }
    if (!is_new) return fusion;
  }
}

CodeLines fusion_lines(const Graph& graph, const Fusion& fusion) {
  const std::vector<std::string> names = value_names(graph);
  const auto line = [&](int place) {
    return print_node(graph, graph.nodes[static_cast<std::size_t>(place)], names);
  };
  CodeLines lines;
  for (std::size_t g = 0; g < fusion.groups.size(); ++g) {
    const Group& group = fusion.groups[g];
    const int number = static_cast<int>(g);
    lines.push_back({.text = fmt::format("kernel {} over {}{}{}", g, text_of(group.space.axes),
                                         group.space.reduces() ? ", row by row" : "",
                                         group.space.column_rank > 0 ? " and down the columns" : ""),
                     .kernel = number});
    if (group.product >= 0)
      lines.push_back({.text = "  in pieces of " + line(group.product), .nodes = {group.product}});
    for (const int each : group.nodes)
      lines.push_back({.text = "  " + line(each), .kernel = number, .nodes = {each}});
  }
  for (const std::string& each : graph.notes) lines.push_back({.text = each});
  for (const Unfused& each : fusion.unfused) {
    const Node& from = graph.nodes[static_cast<std::size_t>(each.producer)];
    const Node& to = graph.nodes[static_cast<std::size_t>(each.consumer)];
    lines.push_back({.text = fmt::format("{} to {}: {}", names[static_cast<std::size_t>(from.outputs[0])],
                                         names[static_cast<std::size_t>(to.outputs[0])], each.reason),
                     .nodes = {each.producer, each.consumer}});
  }
  return lines;
}

}  // namespace kiln::jit
