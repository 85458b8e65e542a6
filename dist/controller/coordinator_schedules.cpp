// Schedules: what all ranks of a set submit at once, as compiled code does with its buckets, has one number,
// so that neither messages nor the coordinator's work grow with the names in it. Whenever ranks differ, and
// whenever something must be said of a collective, a schedule is taken for the names that it stands for.
#include <algorithm>

#include "dist/controller/coordinator.h"
#include "dist/controller/coordinator_text.h"

namespace kiln::dist {
namespace {

// Beyond these, what is submitted at once goes by its names.
constexpr std::size_t kMostSchedules = 256;

}  // namespace

void Coordinator::begin_together(int rank) {
  ranks_[static_cast<std::size_t>(rank)].together = std::make_shared<Names>();
}
void Coordinator::end_together(int rank) { ranks_[static_cast<std::size_t>(rank)].together = nullptr; }

void Coordinator::submit_schedule(int rank, std::uint64_t number, Clock::time_point now) {
  is_changed_ = true;
  Schedule& schedule = schedules_.at(number);
  const std::size_t place = place_in(schedule.process_set, rank);
  Rank& from = ranks_[static_cast<std::size_t>(rank)];
  from.waiting.reset();
  from.activity.clear();
  from.last = described(schedule.names->front(), *known_.at(schedule.ids.front()).submitted[place]);
  if (is_in_the_way(number, schedule)) {
    expand(schedule);
    for (const std::uint64_t other : schedule.overlapping) expand(schedules_.at(other));
    return submit_by_names(schedule, place, now);
  }
  if (schedule.count == 0) schedule.since = now;
  schedule.submitted[place] = true;
  if (++schedule.count == schedule.submitted.size()) complete_schedules_.push_back(number);
}

// Does another rank submit a part of it by a name, or by another schedule?
bool Coordinator::is_in_the_way(std::uint64_t number, const Schedule& schedule) const {
  const auto is_under_way = [&](std::uint64_t other) { return schedules_.at(other).count > 0; };
  const auto is_part = [&](const Pending& each) {
    const auto with = schedules_with_.find({each.process_set, each.name});
    return with != schedules_with_.end() && std::ranges::find(with->second, number) != with->second.end();
  };
  return std::ranges::any_of(schedule.overlapping, is_under_way) || std::ranges::any_of(pending_, is_part);
}

void Coordinator::submit_by_names(const Schedule& schedule, std::size_t place, Clock::time_point since) {
  for (std::size_t i = 0; i < schedule.ids.size(); ++i) {
    Pending& each = pending((*schedule.names)[i], schedule.process_set, since);
    each.submitted[place] = known_.at(schedule.ids[i]).submitted[place];
    each.ids[place] = schedule.ids[i];
    each.together[place] = schedule.names;
  }
}

void Coordinator::expand(Schedule& schedule) {
  if (schedule.count == 0) return;
  is_changed_ = true;
  for (std::size_t place = 0; place < schedule.submitted.size(); ++place) {
    if (schedule.submitted[place]) submit_by_names(schedule, place, schedule.since);
    schedule.submitted[place] = false;
  }
  schedule.count = 0;
}

void Coordinator::expand_all() {
  for (auto& [number, schedule] : schedules_) expand(schedule);
}

void Coordinator::expand_those_with(int process_set, const Name& name) {
  const auto with = schedules_with_.find({process_set, name});
  if (with == schedules_with_.end()) return;
  for (const std::uint64_t each : with->second) expand(schedules_.at(each));
}

// Has some rank ended or joined, or do all wait? Then what there is to say is said of names.
bool Coordinator::can_none_go_on() const {
  const auto is_over = [](const Rank& each) { return each.has_left || each.has_joined; };
  const auto stands_still = [&](const Rank& each) { return is_over(each) || each.waiting; };
  return std::ranges::any_of(ranks_, is_over) || std::ranges::all_of(ranks_, stands_still);
}

void Coordinator::take_schedules(std::vector<Response>& responses) {
  for (const std::uint64_t number : complete_schedules_) {
    Schedule& schedule = schedules_.at(number);
    Response& response = responses.emplace_back();
    response.schedule = number;
    response.ranks = members(schedule.process_set);
    schedule.submitted.assign(schedule.submitted.size(), false);
    schedule.count = 0;
  }
  complete_schedules_.clear();
}

// ---- How schedules come about ----

void Coordinator::take_together(std::vector<Response>& responses) {
  for (auto first = pending_.begin(); first != pending_.end();) {
    const std::vector<List::iterator> all = submitted_with(*first);
    if (all.empty()) {
      ++first;
      continue;
    }
    const int process_set = first->process_set;
    const auto names = first->together.front();
    std::vector<Response> parts;
    for (const List::iterator each : all) {
      parts.push_back(response_to(*each));
      by_name_.erase({process_set, each->name});
      pending_.erase(each);
    }
    if (auto together = scheduled(parts, process_set, names)) {
      responses.push_back(std::move(*together));
    } else {
      for (Response& each : parts) fuse(responses, std::move(each));
    }
    first = pending_.begin();
  }
}

// If this is the first of what all ranks submitted at once, all of that; else nothing.
std::vector<Coordinator::List::iterator> Coordinator::submitted_with(const Pending& first) const {
  const auto& names = first.together.front();
  if (!names || names->front() != first.name) return {};
  const auto is_alike = [&](const auto& other) { return other && (other == names || *other == *names); };
  if (!std::ranges::all_of(first.together, is_alike)) return {};
  std::vector<List::iterator> found;
  for (const Name& name : *names) {
    const auto at = by_name_.find({first.process_set, name});
    if (at == by_name_.end() || at->second->together != first.together) return {};
    found.push_back(at->second);
  }
  return found;
}

// The responses as one, if one buffer may hold all of it.
std::optional<Response> Coordinator::scheduled(const std::vector<Response>& parts, int process_set,
                                               const std::shared_ptr<const Names>& names) {
  Response all;
  all.ranks = parts.front().ranks;
  std::vector<std::uint64_t> ids;
  for (const Response& each : parts) {
    if (each.is_refusal() || each.performed.front().id == 0) return std::nullopt;
    const Agreement &first = agreement_of(parts.front().performed.front()),
                    &own = agreement_of(each.performed.front());
    if (!can_share_buffer(first, own)) return std::nullopt;
    all.performed.push_back(each.performed.front());
    ids.push_back(each.performed.front().id);
  }
  all.bytes = bytes_of(all);
  if (all.bytes > settings_.fusion_bytes) return std::nullopt;
  all.schedule = number_of(process_set, names, ids);
  return all.schedule == 0 ? std::nullopt : std::optional(std::move(all));
}

// 0: there are too many.
std::uint64_t Coordinator::number_of(int process_set, const std::shared_ptr<const Names>& names,
                                     const std::vector<std::uint64_t>& ids) {
  if (const auto found = schedule_numbers_.find(ids); found != schedule_numbers_.end()) return found->second;
  if (schedules_.size() >= kMostSchedules) return 0;
  const std::uint64_t number = schedules_.size() + 1;
  schedule_numbers_[ids] = number;
  Schedule& schedule = schedules_[number];
  schedule.process_set = process_set;
  schedule.names = names;
  schedule.ids = ids;
  schedule.submitted.assign(members(process_set).size(), false);
  for (const Name& name : *names) {
    std::vector<std::uint64_t>& with = schedules_with_[{process_set, name}];
    for (const std::uint64_t other : with) {
      schedules_[other].overlapping.insert(number);
      schedule.overlapping.insert(other);
    }
    with.push_back(number);
  }
  return number;
}

}  // namespace kiln::dist
