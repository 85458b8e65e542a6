// What the coordinator says of collectives that some ranks do not call: sentences after a while, and an error
// as soon as it is certain that they never will.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dist/controller/coordinator.h"
#include "dist/controller/coordinator_text.h"

namespace kiln::dist {

std::string described(const Name& name, const Signature& signature) {
  const bool says_place = name.occurrence > 0 && !name.says_nothing();
  const std::string place = says_place || signature.place.empty() ? "" : " (" + signature.place + ")";
  return titled(name, signature) + place;
}

Refusal ended_refusal(const Name& name, const Signature& first, const std::vector<int>& ended) {
  return {ErrorKind::Value,
          fmt::format("{} waits for {}, which {} ended", described(name, first), ranks_text(ended),
                      ended.size() == 1 ? "has" : "have"),
          "all ranks must make the same number of steps; one that has no more data calls `dist.join()`"};
}

bool can_share_buffer(const Agreement& a, const Agreement& b) {
  const Signature &x = a.call, &y = b.call;
  return x.kind == Kind::Allreduce && y.kind == Kind::Allreduce && x.process_set == y.process_set &&
         x.op == y.op && x.prescale == y.prescale && x.postscale == y.postscale && x.device == y.device &&
         a.joined == b.joined && x.tensors.front().dtype == y.tensors.front().dtype;
}

// What a rank has submitted and waits for. Its program may be further by now, where it has not told so yet:
// it has then not submitted the next collective of that name.
const Coordinator::Pending* Coordinator::awaited(int rank) const {
  const Rank& who = ranks_[static_cast<std::size_t>(rank)];
  if (!who.waiting) return nullptr;
  const auto is_it = [&](const Pending& each) {
    const std::vector<int>& in = members(each.process_set);
    const auto place = static_cast<std::size_t>(std::ranges::find(in, rank) - in.begin());
    return each.name == *who.waiting && place < in.size() && each.submitted[place];
  };
  const auto found = std::ranges::find_if(pending_, is_it);
  return found == pending_.end() ? nullptr : &*found;
}

std::string Coordinator::awaited_text(int rank) const {
  const Pending* const each = awaited(rank);
  return each == nullptr ? ranks_[static_cast<std::size_t>(rank)].last
                         : described(each->name, first_of(each->submitted));
}

bool Coordinator::is_stuck(int rank) const {
  const Rank& who = ranks_[static_cast<std::size_t>(rank)];
  return who.has_left || who.has_joined || awaited(rank) != nullptr;
}

// Where every program waits for what another one does not call, none will ever go on.
void Coordinator::take_stuck(std::vector<Response>& responses) {
  bool any = false;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (!is_stuck(static_cast<int>(i))) return;
    any = any || ranks_[i].waiting;
  }
  if (!any) return;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const Rank& who = ranks_[i];
    parts.push_back(fmt::format("rank {} {}", i,
                                who.has_left     ? "has ended"
                                : who.has_joined ? "has joined"
                                                 : "waits for " + awaited_text(static_cast<int>(i))));
  }
  const Refusal refusal{
      ErrorKind::Value, fmt::format("no rank can go on: {}", fmt::join(parts, ", ")),
      "all ranks must call the same collectives; give them a `name` where their lines differ"};
  for (Rank& who : ranks_) {
    if (!who.waiting) continue;
    const auto each = std::ranges::find(pending_, *who.waiting, &Pending::name);
    if (each == pending_.end()) continue;
    responses.push_back(refused(*each, refusal));
    by_name_.erase({each->process_set, each->name});
    pending_.erase(each);
  }
  for (Rank& who : ranks_) who.waiting.reset();
}

std::string Coordinator::whereabouts(int rank, Clock::time_point now) const {
  using std::chrono::duration_cast;
  using std::chrono::seconds;
  const Rank& who = ranks_[static_cast<std::size_t>(rank)];
  const auto silent = duration_cast<seconds>(now - who.heard).count();
  if (rank != 0 && silent >= 3)
    return fmt::format("rank {} has given no sign of life for {} s", rank, silent);
  if (who.waiting) return fmt::format("rank {} waits for {}", rank, awaited_text(rank));
  const std::string since =
      who.last.empty() ? "has called no collective yet" : "called " + who.last + " before that";
  if (!who.activity.empty()) return fmt::format("rank {} {} and {}", rank, who.activity, since);
  if (who.last.empty()) return fmt::format("rank {} {}", rank, since);
  return fmt::format("rank {} runs since it called {}", rank, who.last);
}

std::vector<std::string> Coordinator::take_stalls(Clock::time_point now) {
  for (auto& [number, schedule] : schedules_) {
    if (schedule.count > 0 && now - schedule.since >= settings_.stall) expand(schedule);
  }
  std::vector<std::string> sentences;
  for (Pending& each : pending_) {
    if (each.is_told || now - each.since < settings_.stall) continue;
    each.is_told = true;
    const std::vector<int> absent = missing(each);
    std::vector<std::string> where;
    for (const int rank : absent) where.push_back(whereabouts(rank, now));
    sentences.push_back(fmt::format(
        "{} waits for {} since {:.3g} s: {}", described(each.name, first_of(each.submitted)),
        ranks_text(absent), std::chrono::duration<double>(now - each.since).count(), fmt::join(where, ", ")));
  }
  return sentences;
}

std::chrono::milliseconds Coordinator::until_stall(Clock::time_point now) const {
  Clock::time_point next = now + std::chrono::hours(1);
  for (const auto& [number, schedule] : schedules_)
    if (schedule.count > 0) next = std::min(next, schedule.since + settings_.stall);
  for (const Pending& each : pending_)
    if (!each.is_told) next = std::min(next, each.since + settings_.stall);
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(next - now), std::chrono::milliseconds(1));
}

std::vector<std::string> Coordinator::waiting(Clock::time_point now) {
  expand_all();
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < ranks_.size(); ++i) lines.push_back(whereabouts(static_cast<int>(i), now));
  for (const Pending& each : pending_)
    lines.push_back(fmt::format("{} is not called by {}", described(each.name, first_of(each.submitted)),
                                ranks_text(missing(each))));
  return lines;
}

}  // namespace kiln::dist
