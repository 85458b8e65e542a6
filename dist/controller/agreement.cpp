#include "dist/controller/agreement.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dist/controller/rows.h"

namespace kiln::dist {
namespace {

std::string op_text(const Signature& s) {
  static constexpr std::array<std::string_view, 6> kNames = {"Sum", "Average", "Min",
                                                             "Max", "Product", "Adasum"};
  return std::string(kNames[static_cast<std::size_t>(s.op)]);
}

template <class F>
std::string of_tensors(const Signature& s, F&& text) {
  std::vector<std::string> parts;
  for (const TensorSpec& spec : s.tensors) parts.push_back(text(spec));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The sizes that must agree: of a gathered tensor, and of one whose rows are sent, all but the first.
std::string inner_sizes(const Signature& s) {
  const bool any_rows = s.kind == Kind::Allgather || s.kind == Kind::Alltoall;
  return of_tensors(s, [&](const TensorSpec& spec) {
    return fmt::format(
        "{}:{}", spec.sizes.size(),
        fmt::join(spec.sizes.begin() + (any_rows && !spec.sizes.empty() ? 1 : 0), spec.sizes.end(), ","));
  });
}

// What all ranks must ask for alike, in the order in which it is checked.
struct Requirement {
  std::string_view what;  // "ranks ask for different …"
  ErrorKind kind;
  std::string (*key)(const Signature&);   // equal on all ranks
  std::string (*text)(const Signature&);  // as the message shows it
};

std::string kind_text(const Signature& s) { return spoken_name(s); }
std::string count_text(const Signature& s) { return fmt::format("{} tensors", s.tensors.size()); }
std::string dtypes_text(const Signature& s) {
  return of_tensors(s, [](const TensorSpec& spec) { return std::string(name(spec.dtype)); });
}
std::string scales_text(const Signature& s) {
  return fmt::format("prescale {} and postscale {}", s.prescale, s.postscale);
}
std::string root_text(const Signature& s) { return fmt::format("root {}", s.root); }
std::string device_text(const Signature& s) { return s.device; }
std::string set_change_text(const Signature& s) {
  return s.kind == Kind::RemoveSet ? fmt::format("set {}", s.root)
                                   : fmt::format("ranks [{}]", fmt::join(s.splits, ", "));
}
// The splits of alltoall are each rank's own.
std::string set_change_key(const Signature& s) { return s.kind == Kind::Alltoall ? "" : set_change_text(s); }

constexpr std::array kRequirements = {
    Requirement{"collectives", ErrorKind::Value, kind_text, kind_text},
    Requirement{"numbers of tensors", ErrorKind::Value, count_text, count_text},
    Requirement{"dtypes", ErrorKind::DType, dtypes_text, shapes_text},
    Requirement{"shapes", ErrorKind::Shape, inner_sizes, shapes_text},
    Requirement{"devices", ErrorKind::Device, device_text, device_text},
    Requirement{"operations", ErrorKind::Value, op_text, op_text},
    Requirement{"scales", ErrorKind::Value, scales_text, scales_text},
    Requirement{"roots", ErrorKind::Value, root_text, root_text},
    Requirement{"process sets", ErrorKind::Value, set_change_key, set_change_text},
};

bool supports_join(Kind kind) { return kind == Kind::Allreduce; }

std::optional<Refusal> refuse_joined(const Name& name, const Signature& first,
                                     const std::vector<int>& joined) {
  if (joined.empty()) return std::nullopt;
  const std::string who =
      fmt::format("{} {} joined", ranks_text(joined), joined.size() == 1 ? "has" : "have");
  if (!supports_join(first.kind)) {
    return Refusal{ErrorKind::Value,
                   fmt::format("{} {} ({}): {}, and only allreduce goes on then", spoken_name(first),
                               name.text(), first.place, who),
                   "call `join` on all ranks after the last collective of this kind"};
  }
  return std::nullopt;
}

}  // namespace

const Signature& first_of(const Submissions& submitted) {
  return **std::find_if(submitted.begin(), submitted.end(),
                        [](const auto& each) { return each.has_value(); });
}

std::string titled(const Name& name, const Signature& signature) {
  std::string text = spoken_name(signature);
  if (!name.says_nothing()) text += " " + name.text();
  if (signature.process_set != 0) text += fmt::format(" of process set {}", signature.process_set);
  return text;
}

std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  return fmt::format("ranks {} and {}", fmt::join(ranks.begin(), ranks.end() - 1, ", "), ranks.back());
}

std::string who_has(const std::vector<int>& ranks, const Submissions& submitted,
                    const std::function<std::string(const Signature&)>& what) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!submitted[i]) continue;
    std::string text = what(*submitted[i]);
    if (!submitted[i]->place.empty()) text += fmt::format(" ({})", submitted[i]->place);
    const auto group = std::ranges::find(groups, text, [](const auto& each) { return each.first; });
    if (group == groups.end()) {
      groups.push_back({std::move(text), {ranks[i]}});
    } else {
      group->second.push_back(ranks[i]);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [text, who] : groups)
    parts.push_back(fmt::format("{} {} {}", ranks_text(who), who.size() == 1 ? "has" : "have", text));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::variant<Agreement, Refusal> agree(const Name& name, const std::vector<int>& ranks,
                                       const Submissions& submitted) {
  const Signature& first = first_of(submitted);
  std::vector<int> joined;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!submitted[i]) joined.push_back(ranks[i]);
  }
  for (const Requirement& each : kRequirements) {
    const std::string wanted = each.key(first);
    const auto differs = [&](const std::optional<Signature>& s) { return s && each.key(*s) != wanted; };
    if (std::ranges::none_of(submitted, differs)) continue;
    return Refusal{each.kind,
                   fmt::format("{}: ranks ask for different {}: {}", titled(name, first), each.what,
                               who_has(ranks, submitted, each.text)),
                   "all ranks must call a collective alike"};
  }
  if (auto refusal = refuse_joined(name, first, joined)) return *std::move(refusal);
  auto rows = rows_by_rank(name, ranks, submitted);
  if (auto* refusal = std::get_if<Refusal>(&rows)) return std::move(*refusal);
  return Agreement{name.base, first, ranks, std::get<RowsByRank>(std::move(rows)), std::move(joined)};
}

void write(Writer& writer, const Agreement& agreement) {
  writer.put(agreement.base);
  write(writer, agreement.call);
  writer.put(agreement.ranks);
  writer.put(agreement.by_rank);
  writer.put(agreement.joined);
}

Agreement read_agreement(Reader& reader) {
  Agreement agreement;
  agreement.base = reader.text();
  agreement.call = read_signature(reader);
  agreement.ranks = reader.list<int>();
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left)
    agreement.by_rank.push_back(reader.list<std::int64_t>());
  agreement.joined = reader.list<int>();
  return agreement;
}

}  // namespace kiln::dist
