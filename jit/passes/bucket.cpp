// After starts and waits are where they are: buckets are of what is begun one after the other.
#include <algorithm>
#include <map>
#include <optional>

#include "jit/graph/collectives.h"
#include "jit/graph/rewrite.h"
#include "jit/passes/passes.h"

namespace kiln::jit {
namespace {

// Starts that become one, with their waits: places of nodes, in order.
struct Bucket {
  std::vector<int> starts, waits;
  std::int64_t bytes = 0;
};

class Finder {
 public:
  explicit Finder(const Graph& graph)
      : graph_(graph),
        wait_of_(graph.nodes.size(), -1),
        reads_(graph.values.size(), 0),
        limit_(most_bucket_bytes(graph)) {
    count_reads();
    const std::vector<int> producers = graph.producers();
    int begun = 0;
    for (int place = 0; place < count(); ++place) {
      const Node& each = node(place);
      if (submits(each)) ++begun;
      begun_.push_back(begun);
      if (!is_wait(each) || !each.operands[0].is_value()) continue;
      const int start = producers[static_cast<std::size_t>(each.operands[0].value)];
      if (start >= 0 && is_start(node(start))) wait_of_[static_cast<std::size_t>(start)] = place;
    }
  }

  // Of more than one start each.
  std::vector<Bucket> run() {
    for (int place = 0; place < count(); ++place) {
      if (blocks(node(place))) {
        close([](const Bucket&) { return true; });
      } else if (is_start(node(place))) {
        add(place);
      }
    }
    close([](const Bucket&) { return true; });
    return std::move(closed_);
  }

 private:
  // Of tokens: what is read by others than its wait, or leaves with the caller, stays what it is.
  void count_reads() {
    const auto read = [this](const Operand& each) {
      if (each.is_value()) ++reads_[static_cast<std::size_t>(each.value)];
    };
    for (const Node& each : graph_.nodes) std::ranges::for_each(each.operands, read);
    std::ranges::for_each(graph_.outputs, read);
    for (const ValueId each : graph_.saved) read(Operand::of(each));
    for (const Effect& each : graph_.effects) read(Operand::of(each.value));
  }

  int count() const { return static_cast<int>(graph_.nodes.size()); }
  const Node& node(int place) const { return graph_.nodes[static_cast<std::size_t>(place)]; }
  const Type& first_type(const Node& start) const {
    return graph_.values[static_cast<std::size_t>(start.operands[0].value)].type;
  }

  template <class P>
  void close(const P& is_over) {
    std::erase_if(open_, [&](Bucket& each) {
      if (!is_over(each)) return false;
      if (each.starts.size() > 1) closed_.push_back(std::move(each));
      return true;
    });
  }

  void add(int place) {
    const Node& start = node(place);
    const bool joins = may_join(place);
    const auto found =
        std::ranges::find_if(open_, [&](const Bucket& each) { return joins && fits(each, place); });
    const int first = found != open_.end() ? found->starts[0] : -1;
    if (has_unnamed(start)) close_unnamed(first);
    if (!joins) return;
    const auto joined = std::ranges::find(open_, first, [](const Bucket& each) { return each.starts[0]; });
    Bucket& bucket = joined != open_.end() ? *joined : open_.emplace_back();
    bucket.starts.push_back(place);
    bucket.waits.push_back(wait_of_[static_cast<std::size_t>(place)]);
    bucket.bytes += bytes_of(start);
  }

  // What the program did not name is begun in its order. So when such a start comes, all buckets of such are
  // over but the one that it joins, which is known by its first start.
  void close_unnamed(int joined) {
    close([&](const Bucket& each) { return each.starts[0] != joined && has_unnamed(node(each.starts[0])); });
  }

  bool may_join(int place) const {
    const Node& start = node(place);
    const int wait = wait_of_[static_cast<std::size_t>(place)];
    const bool is_of_values =
        std::ranges::all_of(start.operands, [](const Operand& each) { return each.is_value(); });
    const bool is_waited_for_alone = reads_[static_cast<std::size_t>(start.outputs[0])] == 1;
    return wait >= 0 && is_of_values && is_waited_for_alone &&
           std::get<std::string>(start.attr("group")).empty() &&
           node(wait).operands.size() == start.operands.size() + 1 &&
           std::equal(start.operands.begin(), start.operands.end(), node(wait).operands.begin() + 1);
  }
  bool fits(const Bucket& bucket, int place) const {
    const Node &start = node(place), &first = node(bucket.starts[0]);
    const auto is_alike = [&](const char* name) { return same_attr(start.attr(name), first.attr(name)); };
    if (!is_alike("op") || !is_alike("prescale") || !is_alike("postscale") || !is_alike("process_set"))
      return false;
    const auto is_of_type = [&](const Operand& each) {
      const Type& type = graph_.values[static_cast<std::size_t>(each.value)].type;
      return type.dtype == first_type(first).dtype && type.device == first_type(first).device;
    };
    return std::ranges::all_of(start.operands, is_of_type) && bucket.bytes + bytes_of(start) <= limit_ &&
           has_unnamed(start) == has_unnamed(first) && nothing_begins_between(bucket, place);
  }
  // Waits move to the first of them.
  bool nothing_begins_between(const Bucket& bucket, int place) const {
    const int wait = wait_of_[static_cast<std::size_t>(place)];
    const int first = std::min(wait, std::ranges::min(bucket.waits));
    const int last = std::max(wait, std::ranges::max(bucket.waits));
    return first > place && begun_[static_cast<std::size_t>(first)] == begun_[static_cast<std::size_t>(last)];
  }
  std::int64_t bytes_of(const Node& start) const { return bytes_of_start(graph_, start); }

  const Graph& graph_;
  std::vector<int> wait_of_;  // by node: of a start
  std::vector<int> reads_;    // by value: how often it is read
  std::int64_t limit_;        // in bytes, of a bucket
  std::vector<int> begun_;    // by node: how many collectives were begun so far
  std::vector<Bucket> open_, closed_;
};

// ---- Joining ----

std::string joined_lines(const Graph& graph, const Bucket& bucket, const char* name) {
  std::string text;
  for (const int place : bucket.starts) {
    const Node& start = graph.nodes[static_cast<std::size_t>(place)];
    std::string lines = std::get<std::string>(start.attr(name));
    const auto there = static_cast<std::size_t>(std::ranges::count(lines, '\n')) + 1;
    lines.append(start.operands.size() - there, '\n');
    text += (text.empty() && place == bucket.starts[0] ? "" : "\n") + lines;
  }
  return text.find_first_not_of('\n') == std::string::npos ? "" : text;
}

class Joiner {
 public:
  explicit Joiner(const Graph& graph) : graph_(graph), rewriter_(graph) {}

  Graph run(const std::vector<Bucket>& buckets) {
    std::map<int, const Bucket*> last_start, first_wait;
    std::vector<bool> is_joined(graph_.nodes.size(), false);
    for (const Bucket& each : buckets) {
      last_start[each.starts.back()] = &each;
      first_wait[std::ranges::min(each.waits)] = &each;
      for (const auto* places : {&each.starts, &each.waits})
        for (const int place : *places) is_joined[static_cast<std::size_t>(place)] = true;
    }
    for (int place = 0; place < static_cast<int>(graph_.nodes.size()); ++place) {
      if (const auto found = last_start.find(place); found != last_start.end()) {
        start(*found->second);
      } else if (const auto waited = first_wait.find(place); waited != first_wait.end()) {
        wait(*waited->second);
      } else if (!is_joined[static_cast<std::size_t>(place)]) {
        rewriter_.copy(graph_.nodes[static_cast<std::size_t>(place)]);
      }
    }
    return rewriter_.finish();
  }

 private:
  const Node& node(int place) const { return graph_.nodes[static_cast<std::size_t>(place)]; }

  void start(const Bucket& bucket) {
    Node joined = node(bucket.starts[0]);
    joined.operands.clear();
    for (const int place : bucket.starts) {
      for (const Operand& each : node(place).operands) joined.operands.push_back(rewriter_.at(each));
    }
    joined.attr("names") = joined_lines(graph_, bucket, "names");
    joined.attr("places") = joined_lines(graph_, bucket, "places");
    join_lineages(joined, bucket.starts);
    operands_[&bucket] = joined.operands;
    tokens_[&bucket] = rewriter_.append(std::move(joined))[0];
  }
  void wait(const Bucket& bucket) {
    Node joined = node(bucket.waits[0]);
    joined.operands = operands_.at(&bucket);
    joined.operands.insert(joined.operands.begin(), Operand::of(tokens_.at(&bucket)));
    join_lineages(joined, bucket.waits);
    std::vector<ValueId> results;
    std::vector<std::string> names;
    for (const int place : bucket.waits) {
      for (const ValueId each : node(place).outputs) {
        results.push_back(each);
        names.push_back(graph_.values[static_cast<std::size_t>(each)].name);
      }
    }
    const std::vector<ValueId> made = rewriter_.append(std::move(joined), names);
    for (std::size_t k = 0; k < made.size(); ++k) rewriter_.map(results[k], made[k]);
  }
  void join_lineages(Node& joined, const std::vector<int>& places) const {
    for (const int each : places)
      joined.place.lineage = Lineage::joined(joined.place.lineage, node(each).place.lineage);
  }

  const Graph& graph_;
  Rewriter rewriter_;
  std::map<const Bucket*, std::vector<Operand>> operands_;
  std::map<const Bucket*, ValueId> tokens_;
};

}  // namespace

Graph bucket(Graph graph) {
  if (!has_collectives(graph) || !may_reorder(graph)) return graph;
  const std::vector<Bucket> buckets = Finder(graph).run();
  return buckets.empty() ? graph : Joiner(graph).run(buckets);
}

}  // namespace kiln::jit
