// What the communication thread does: in turns it exchanges messages with rank 0, and performs what was
// agreed on.
#include <algorithm>

#include <fmt/format.h>

#include "dist/controller/controller.h"
#include "dist/controller/coordinator_text.h"
#include "dist/controller/links.h"
#include "dist/transport/short_slice.h"

namespace kiln::dist {
namespace {

// Tags below are the control messages'; MPI has tags of 31 bits.
constexpr std::uint64_t kFirstTag = 16;
constexpr std::uint64_t kTags = std::uint64_t{1} << 30U;

}  // namespace

void Controller::communicate() {
  const ShortSlice slice;
  try {
    Links links(*transport_);
    while (step(links)) continue;
    channels_.close();
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  } catch (const PeerLost& lost) {
    fail(ErrorKind::RanksLost, lost.what());
  } catch (const Stopped&) {
    fail(ErrorKind::Value, "this rank has left the job");
  } catch (const OpError& error) {
    fail(error.kind(), error.message());
  } catch (const std::exception& error) {
    fail(ErrorKind::Internal, error.what());
  }
  changed_.notify_all();
}

void Controller::fail(ErrorKind kind, const std::string& message) {
  const std::lock_guard lock(mutex_);
  failure_ = Refusal{kind, message, ""};
  for (const auto& [key, entry] : entries_) performing_.push_back(entry);
  for (const auto& entry : performing_) {
    if (!entry) continue;
    entry->refusal = failure_;
    entry->is_done = true;
  }
  entries_.clear();
  has_ended_ = true;
}

// One turn; false: all ranks have left.
bool Controller::step(Links& links) {
  const Clock::time_point now = Clock::now();
  tell(links, now);
  bool is_idle = true;
  while (auto message = links.take()) {
    hear(message->bytes, message->from);
    is_idle = false;
  }
  if (coordinator_) answer(links);
  for (; !responses_.empty(); responses_.pop_front()) {
    perform(std::move(responses_.front()));
    is_idle = false;
  }
  if (has_goodbye_) {
    links.flush();
    return false;
  }
  if (is_idle) links.wait(coordinator_ ? std::min(kBeat, coordinator_->until_stall(Clock::now())) : kBeat);
  return true;
}

std::shared_ptr<Controller::Entry> Controller::taken(int process_set, const Name& name) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find({process_set, name});
  if (found == entries_.end()) return nullptr;
  auto entry = found->second;
  entries_.erase(found);
  return entry;
}

void Controller::perform(Response response) {
  if (response.is_refusal()) return refuse(response);
  std::vector<Work> works;
  performing_.clear();
  if (response.performed.empty()) {
    for (const std::uint64_t id : schedules_.at(response.schedule))
      response.performed.push_back({id, 0, std::nullopt});
    response.schedule = 0;
  }
  std::vector<Agreement> unkept;
  unkept.reserve(response.performed.size());
  for (Performed& each : response.performed) {
    const Agreement* agreement = nullptr;
    if (each.id == 0) {
      agreement = &unkept.emplace_back(std::move(*each.agreement));
    } else {
      if (each.agreement) known_[each.id] = std::move(*each.agreement);
      agreement = &known_.at(each.id);
    }
    auto entry = taken(agreement->call.process_set, {agreement->base, each.occurrence});
    if (entry && each.id != 0 && entry->id != each.id) known_ids_[key_of(*entry)] = each.id;
    Work& work = works.emplace_back();
    work.agreement = agreement;
    if (entry) {
      work.inputs = entry->inputs;
      work.total = entry->signature.total;
    }
    performing_.push_back(std::move(entry));
  }
  if (response.schedule != 0) learn_schedule(response);
  perform_together(response.number, works);
  performing_.clear();
}

void Controller::perform_together(std::uint64_t number, std::vector<Work>& works) {
  const Agreement& first = *works.front().agreement;
  const PerformedPhase whole{name(first.call.kind), microseconds_now()};
  const Group group = group_of(*transport_, first, kFirstTag + number % kTags);
  if (first.call.device == name(Device::Kind::Cuda)) {
    perform_on_cards(group, works);
  } else {
    dist::perform(group, works);
  }
  std::vector<PerformedPhase> phases = take_phases();
  if (phases.empty()) phases.push_back(whole);
  const std::int64_t end = microseconds_now();
  if (spans_.are_recorded()) record(phases, end);
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < works.size(); ++i) {
    const Agreement& agreement = *works[i].agreement;
    change_sets(agreement.call);
    const auto& entry = performing_[i];
    if (!entry) continue;
    entry->outputs = std::move(works[i].outputs);
    entry->number = agreement.call.root;
    entry->inputs.clear();
    entry->is_done = true;
  }
  changed_.notify_all();
}

// Adasum is for memory of the host: its sums go from the first element of a tensor to the last.
void Controller::perform_on_cards(const Group& group, std::vector<Work>& works) {
  std::vector<const cuda::Event*> ready;
  for (const Work& work : works) {
    for (const auto& input : work.inputs) ready.push_back(input->ready());
  }
  Device card;
  {
    const std::lock_guard lock(mutex_);
    card = card_;
  }
  const bool computes_on_host = works.front().agreement->call.op == kiln::ReduceOp::Adasum;
  channels_.perform(group, card, ready, computes_on_host,
                    [&](const Group& members) { dist::perform(members, works); });
}

void Controller::change_sets(const Signature& call) {
  if (call.kind != Kind::AddSet && call.kind != Kind::RemoveSet) return;
  if (call.kind == Kind::AddSet) {
    sets_[call.root] = {call.splits.begin(), call.splits.end()};
  } else {
    sets_.erase(call.root);
  }
  membership_changed();
}

namespace {

std::string text_of(const std::string& first, std::size_t count) {
  return count > 1 ? fmt::format("{} and {} more", first, count - 1) : first;
}

}  // namespace

// What shares a buffer is performed at once, and what was submitted at once was agreed on at once.
void Controller::record(const std::vector<PerformedPhase>& phases, std::int64_t end) {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  struct Submission {
    std::string first;
    std::size_t count = 0;
  };
  std::map<Clock::time_point, Submission> submissions;
  Submission all;
  for (const auto& entry : performing_) {
    if (!entry) continue;
    for (Submission* const each : {&all, &submissions[entry->submitted_at]})
      if (each->count++ == 0) each->first = described(entry->name, entry->signature);
  }
  if (all.count == 0) all.first = "this rank has joined, and stands in";
  const Clock::time_point now = Clock::now();
  const std::int64_t now_us = microseconds_now(), begin = phases.front().begin;
  for (const auto& [at, each] : submissions) {
    const std::int64_t since = duration_cast<microseconds>(now - at).count();
    spans_.add({text_of(each.first, each.count), "negotiate", std::min(now_us - since, begin), begin});
  }
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const std::int64_t next = i + 1 < phases.size() ? phases[i + 1].begin : end;
    spans_.add({text_of(all.first, all.count), std::string(phases[i].name), phases[i].begin, next});
  }
}

void Controller::refuse(const Response& response) {
  const auto entry = taken(response.failed_set, response.failed);
  if (!entry) return;
  const std::lock_guard lock(mutex_);
  entry->refusal = response.refusal;
  entry->is_done = true;
  entry->inputs.clear();
  changed_.notify_all();
}

}  // namespace kiln::dist
