#include "dist/controller/rows.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kiln::dist {
namespace {

std::int64_t rows_of(const TensorSpec& spec) { return spec.sizes.empty() ? 1 : spec.sizes.front(); }

std::string rows_text(const Signature& s) {
  if (s.kind == Kind::Reducescatter) return fmt::format("{}, of which it takes {}", shapes_text(s), s.rows);
  return s.total == kUnstated ? shapes_text(s) : fmt::format("{} and says {} rows", shapes_text(s), s.total);
}

// What alltoall cannot cut a rank's rows by.
bool is_wrong_split(const Signature& s, std::size_t count) {
  if (s.splits.empty()) return rows_of(s.tensors.front()) % static_cast<std::int64_t>(count) != 0;
  if (s.splits.size() != count || std::ranges::any_of(s.splits, [](std::int64_t rows) { return rows < 0; }))
    return true;
  return std::accumulate(s.splits.begin(), s.splits.end(), std::int64_t{0}) > rows_of(s.tensors.front());
}

std::string split_text(const Signature& s) {
  if (s.splits.empty()) return shapes_text(s) + " without splits";
  return fmt::format("{} with splits [{}]", shapes_text(s), fmt::join(s.splits, ", "));
}

// The rows that ranks state add up to those that there are.
std::optional<Refusal> refuse_sums(const Name& name, const std::vector<int>& ranks,
                                   const Submissions& submitted, const RowsByRank& by_rank) {
  const Signature& first = first_of(submitted);
  std::int64_t sum = 0;
  for (const auto& rows : by_rank) sum += rows.front();
  const auto is_wrong = [&](const std::optional<Signature>& s) {
    const std::int64_t stated = first.kind == Kind::Allgather ? s->total : rows_of(s->tensors.front());
    return stated != kUnstated && stated != sum;
  };
  if (std::ranges::none_of(submitted, is_wrong)) return std::nullopt;
  return Refusal{ErrorKind::Shape,
                 fmt::format("{} {}: all ranks have {} rows together, which is not what was said: {}",
                             spoken_name(first), name.text(), sum, who_has(ranks, submitted, rows_text)),
                 ""};
}

std::optional<Refusal> refuse_splits(const Name& name, const std::vector<int>& ranks,
                                     const Submissions& submitted) {
  if (std::ranges::none_of(submitted, [&](const auto& s) { return is_wrong_split(*s, ranks.size()); }))
    return std::nullopt;
  return Refusal{ErrorKind::Shape,
                 fmt::format("alltoall {}: rows cannot be cut for {} ranks: {}", name.text(), ranks.size(),
                             who_has(ranks, submitted, split_text)),
                 "give `splits`, a row count for each rank that are no more than dim 0 together"};
}

std::vector<std::int64_t> own_rows(const Signature& s, std::size_t count) {
  std::vector<std::int64_t> rows;
  if (s.kind == Kind::Alltoall) {
    rows = s.splits;
    if (rows.empty()) rows.assign(count, rows_of(s.tensors.front()) / static_cast<std::int64_t>(count));
  } else if (s.kind == Kind::Allgather) {
    rows.push_back(rows_of(s.tensors.front()));
  } else if (s.kind == Kind::Reducescatter) {
    rows.push_back(s.rows);
  }
  return rows;
}

// Of alltoall: no rank gets more rows than it says.
std::optional<Refusal> refuse_totals(const Name& name, const std::vector<int>& ranks,
                                     const Submissions& submitted, const RowsByRank& by_rank) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::int64_t arriving = 0;
    for (const auto& rows : by_rank) arriving += rows[i];
    if (submitted[i]->total == kUnstated || submitted[i]->total >= arriving) continue;
    return Refusal{ErrorKind::Shape,
                   fmt::format("alltoall {}: rank {} says that it gets {} rows, and gets {}", name.text(),
                               ranks[i], submitted[i]->total, arriving),
                   ""};
  }
  return std::nullopt;
}

}  // namespace

std::string shapes_text(const Signature& s) {
  std::vector<std::string> parts;
  for (const TensorSpec& spec : s.tensors) parts.push_back(spec.text());
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::variant<RowsByRank, Refusal> rows_by_rank(const Name& name, const std::vector<int>& ranks,
                                               const Submissions& submitted) {
  const Kind kind = first_of(submitted).kind;
  RowsByRank by_rank;
  if (kind != Kind::Allgather && kind != Kind::Alltoall && kind != Kind::Reducescatter) return by_rank;
  if (kind == Kind::Alltoall) {
    if (auto refusal = refuse_splits(name, ranks, submitted)) return *std::move(refusal);
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) by_rank.push_back(own_rows(*submitted[i], ranks.size()));
  auto refusal = kind == Kind::Alltoall ? refuse_totals(name, ranks, submitted, by_rank)
                                        : refuse_sums(name, ranks, submitted, by_rank);
  if (refusal) return *std::move(refusal);
  return by_rank;
}

}  // namespace kiln::dist
