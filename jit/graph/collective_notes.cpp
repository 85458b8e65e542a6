// What the collectives of a graph are, in words.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "jit/graph/collectives.h"
#include "jit/graph/text.h"
#include "tensor/core_ops.h"
#include "tensor/ops/collectives.h"

namespace kiln::jit {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{25} << 20, kLeastBytes = std::int64_t{1} << 20;
constexpr std::int64_t kBuckets = 4;  // of a graph with much to reduce
constexpr std::size_t kMostNamed = 3;

const Type& type_of(const Graph& graph, const Operand& each) {
  return graph.values[static_cast<std::size_t>(each.value)].type;
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  const double kibibytes = static_cast<double>(bytes) / 1024;
  return kibibytes < 1024 ? fmt::format("{:.3g} KiB", kibibytes)
                          : fmt::format("{:.3g} MiB", kibibytes / 1024);
}

class Notes {
 public:
  explicit Notes(const Graph& graph)
      : graph_(graph), names_(value_names(graph)), most_bytes_(most_bucket_bytes(graph)) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (is_start(graph.nodes[i])) starts_.push_back(static_cast<int>(i));
  }

  std::vector<CollectiveNote> run() {
    std::vector<CollectiveNote> notes;
    for (int place = 0; place < static_cast<int>(graph_.nodes.size()); ++place) {
      if (is_start(node(place))) {
        const int wait = wait_of(place);
        notes.push_back({place, wait, bucket_text(place, wait)});
      } else if (submits(node(place))) {
        notes.push_back({place, -1, stays_text(node(place))});
      }
    }
    return notes;
  }

 private:
  const Node& node(int place) const { return graph_.nodes[static_cast<std::size_t>(place)]; }
  const std::string& name(ValueId id) const { return names_[static_cast<std::size_t>(id)]; }
  static std::string text(const Node& of, const char* attr) { return std::get<std::string>(of.attr(attr)); }

  // The first node behind `place` that reads one of the values; -1: none does.
  int reader_of(const std::vector<ValueId>& values, int place) const {
    for (int other = place + 1; other < static_cast<int>(graph_.nodes.size()); ++other) {
      if (std::ranges::any_of(node(other).operands, [&](const Operand& each) {
            return std::ranges::find(values, each.value) != values.end();
          }))
        return other;
    }
    return -1;
  }
  int wait_of(int start) const {
    const int reader = reader_of(node(start).outputs, start);
    return reader >= 0 && is_wait(node(reader)) ? reader : -1;
  }

  // "`fc1.weight`, `fc1.bias` and 4 more", or lines of the program.
  std::string tensors_text(const Node& start) const {
    const std::size_t count = start.operands.size();
    const auto lines = ops::lines_of(text(start, "names"), count);
    const auto places = ops::lines_of(text(start, "places"), count);
    std::vector<std::string> said;
    for (std::size_t i = 0; i < std::min(count, kMostNamed); ++i)
      said.push_back(lines[i].empty() ? places[i] : fmt::format("`{}`", lines[i]));
    const std::string more = count > kMostNamed ? fmt::format(" and {} more", count - kMostNamed) : "";
    return fmt::format("{}{}, {}", fmt::join(said, ", "), more, bytes_text(bytes_of_start(graph_, start)));
  }

  // The operand that is there last.
  std::string begin_text(int start) const {
    const std::vector<int> producers = graph_.producers();
    int last = -1;
    ValueId made = -1;
    for (const Operand& each : node(start).operands) {
      if (!each.is_value()) continue;
      const int producer = producers[static_cast<std::size_t>(each.value)];
      if (producer <= last) continue;
      last = producer;
      made = each.value;
    }
    return made < 0 ? "begun at once" : fmt::format("begun when {} is there", name(made));
  }

  std::string wait_text(int start, int wait) const {
    if (wait < 0) return "waited for where its token goes";
    const int reader = reader_of(node(wait).outputs, wait);
    const std::string why = reader < 0 || node(reader).outputs.empty()
                                ? "at the end"
                                : fmt::format("when {} needs it", name(node(reader).outputs[0]));
    const auto meanwhile = std::count_if(graph_.nodes.begin() + start + 1, graph_.nodes.begin() + wait,
                                         [](const Node& each) { return !communicates(each); });
    return fmt::format("waited for {}, with {} other node{} meanwhile", why, meanwhile,
                       meanwhile == 1 ? "" : "s");
  }

  // Why it is no part of the bucket before it.
  std::string apart_text(int start, int before) const {
    const Node &own = node(start), &other = node(before);
    if (!text(own, "group").empty() || !text(other, "group").empty()) return "the program groups them";
    for (const auto& [attr, word] :
         {std::pair("op", "operation"), std::pair("prescale", "factor"), std::pair("postscale", "factor"),
          std::pair("process_set", "process set")})
      if (!same_attr(own.attr(attr), other.attr(attr))) return fmt::format("they differ in their {}", word);
    const Type &a = type_of(graph_, own.operands[0]), &b = type_of(graph_, other.operands[0]);
    if (a.dtype != b.dtype || a.device != b.device) return "they differ in dtype or device";
    if (has_unnamed(own) != has_unnamed(other)) return "one of them has no name";
    if (bytes_of_start(graph_, own) + bytes_of_start(graph_, other) > most_bytes_)
      return fmt::format("together they are more than {}", bytes_text(most_bytes_));
    return "something begins or is waited for between them";
  }

  std::string bucket_text(int start, int wait) const {
    const auto number = static_cast<std::size_t>(std::ranges::find(starts_, start) - starts_.begin());
    const std::string head =
        wait < 0 ? name(node(start).outputs[0])
                 : fmt::format("{} to {}", name(node(start).outputs[0]), name(node(wait).outputs[0]));
    std::string text = fmt::format("{}: bucket {} of {}: {}; {}, {}", head, number + 1, starts_.size(),
                                   tensors_text(node(start)), begin_text(start), wait_text(start, wait));
    if (number > 0)
      text +=
          fmt::format("; apart from the bucket before it, since {}", apart_text(start, starts_[number - 1]));
    return text;
  }

  std::string stays_text(const Node& each) const {
    const std::string at =
        each.place.file.empty() ? "" : fmt::format(" ({}:{})", each.place.file.get(), each.place.line);
    const std::string head = each.outputs.empty() ? "" : name(each.outputs[0]) + ": ";
    const bool has_halves = each.op->decompose != nullptr;
    return fmt::format("{}`{}`{} waits where it begins, since {}", head, each.op->name(), at,
                       has_halves ? "the graph runs op by op" : "it has no halves to be moved");
  }

  const Graph& graph_;
  const std::vector<std::string> names_;
  const std::int64_t most_bytes_;
  std::vector<int> starts_;
};

}  // namespace

std::int64_t bytes_of_start(const Graph& graph, const Node& start) {
  std::int64_t bytes = 0;
  for (const Operand& each : start.operands) {
    if (!each.is_value()) continue;
    const Type& type = type_of(graph, each);
    bytes += count_elements(evaluate(type.sizes, graph.hints)).known() *
             static_cast<std::int64_t>(size_of(type.dtype));
  }
  return bytes;
}

std::int64_t most_bucket_bytes(const Graph& graph) {
  std::int64_t total = 0;
  for (const Node& each : graph.nodes) total += is_start(each) ? bytes_of_start(graph, each) : 0;
  return std::clamp(total / kBuckets, kLeastBytes, kMostBytes);
}

std::vector<CollectiveNote> collective_notes(const Graph& graph) { return Notes(graph).run(); }

std::string collectives_text(const Graph& graph) {
  std::string text;
  for (const CollectiveNote& each : collective_notes(graph)) text += (text.empty() ? "" : "\n") + each.text;
  return text;
}

}  // namespace kiln::jit
