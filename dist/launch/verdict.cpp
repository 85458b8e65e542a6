#include "dist/launch/verdict.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace kiln::dist {
namespace {

// The kind of error that says that other ranks were lost.
constexpr std::string_view kConsequence = "RanksLost";

std::string said_of(const RankEnd& end) {
  if (end.signal) {
    return "was killed by signal " + std::to_string(*end.signal) + " (" + strsignal(*end.signal) + ")";
  }
  if (end.fault.empty() || end.exit_code.value_or(0) != 0)
    return "left with exit code " + std::to_string(end.exit_code.value_or(0));
  return end.fault;
}

// "rank 2", "ranks 0 and 3", "ranks 0, 1 and 3"
std::string named(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    if (k > 0) text += k + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[k]);
  }
  return text;
}

// The first that failed in the way that says most.
const RankEnd* first_cause(std::span<const RankEnd> ends) {
  using Is = bool (*)(const RankEnd&);
  static constexpr std::array<Is, 4> kMostTelling{
      [](const RankEnd& end) { return end.signal.has_value() || (!end.fault.empty() && !end.error); },
      [](const RankEnd& end) { return end.error && end.error->kind != kConsequence; },
      [](const RankEnd& end) { return !end.error && end.exit_code.value_or(0) != 0; },
      [](const RankEnd& end) { return end.error.has_value(); }};
  for (const Is is : kMostTelling)
    for (const RankEnd& end : ends)
      if (end.has_failed() && is(end)) return &end;
  return nullptr;
}

bool ended_alike(const RankEnd& a, const RankEnd& b) {
  if (a.error && b.error) return a.error->text == b.error->text;
  return !a.error && !b.error && b.has_failed() && said_of(a) == said_of(b);
}

}  // namespace

std::string sentence_of(const RankEnd& end) {
  return "rank " + std::to_string(end.rank) + " " + said_of(end);
}

Verdict judge(std::span<const RankEnd> ends) {
  const RankEnd* const cause = first_cause(ends);
  if (cause == nullptr) return {};
  Verdict verdict;
  verdict.exit_code = cause->signal ? 128 + *cause->signal : std::max(cause->exit_code.value_or(1), 1);
  std::vector<int> ranks;
  for (const RankEnd& end : ends)
    if (&end == cause || ended_alike(*cause, end)) ranks.push_back(end.rank);
  if (cause->error) verdict.text = cause->error->text;
  if (ends.size() == 1 && cause->error) return verdict;
  verdict.text += "kiln run: ";
  if (cause->error) {
    verdict.text += "this error ended " + named(ranks);
  } else {
    verdict.text += named(ranks) + " " + said_of(*cause);
  }
  const auto is_consequence = [](const RankEnd& end) {
    return end.was_stopped || (end.error && end.error->kind == kConsequence);
  };
  if (std::ranges::any_of(ends, is_consequence)) verdict.text += "; the other ranks were stopped";
  verdict.text += "\n";
  return verdict;
}

}  // namespace kiln::dist
