#include "dist/controller/coordinator.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <fmt/format.h>

#include "dist/controller/coordinator_text.h"

namespace kiln::dist {
namespace {

// Beyond this many agreements the rest are sent in full each time: names that a program makes without end.
constexpr std::size_t kMostKnown = 4096;

bool is_set_change(Kind kind) { return kind == Kind::AddSet || kind == Kind::RemoveSet; }

// What all ranks said, as a key.
std::string key_of(const Name& name, const Submissions& submitted) {
  Writer writer;
  writer.put(name.base);
  for (const auto& each : submitted) {
    if (each) write(writer, *each);
  }
  return writer.text();
}

}  // namespace

Coordinator::Coordinator(int size, Settings settings)
    : settings_(settings), ranks_(static_cast<std::size_t>(size)) {
  std::vector<int> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  sets_[0] = std::move(all);
  for (Rank& each : ranks_) each.heard = Clock::now();
}

std::size_t Coordinator::place_in(int process_set, int rank) const {
  const std::vector<int>& in = members(process_set);
  return static_cast<std::size_t>(std::ranges::find(in, rank) - in.begin());
}

Coordinator::Pending& Coordinator::pending(const Name& name, int process_set, Clock::time_point now) {
  const auto found = by_name_.find({process_set, name});
  if (found != by_name_.end()) return *found->second;
  const std::size_t count = members(process_set).size();
  pending_.push_back({.name = name,
                      .process_set = process_set,
                      .submitted = Submissions(count),
                      .ids = std::vector<std::uint64_t>(count, 0),
                      .together = std::vector<std::shared_ptr<const Names>>(count),
                      .since = now});
  by_name_[{process_set, name}] = std::prev(pending_.end());
  return pending_.back();
}

void Coordinator::submit(int rank, const Name& name, Signature signature, Clock::time_point now) {
  add(rank, name, 0, std::move(signature), now);
}

void Coordinator::submit_known(int rank, std::uint64_t id, std::uint64_t occurrence, Clock::time_point now) {
  const Known& known = known_.at(id);
  add(rank, {known.base, occurrence}, id, *known.submitted[place_in(known.process_set, rank)], now);
}

void Coordinator::add(int rank, const Name& name, std::uint64_t id, Signature signature,
                      Clock::time_point now) {
  is_changed_ = true;
  Rank& from = ranks_[static_cast<std::size_t>(rank)];
  from.waiting.reset();
  from.activity.clear();
  from.last = described(name, signature);
  if (signature.kind == Kind::Join) {
    from.has_joined = true;
    joined_order_.push_back(rank);
    return;
  }
  const std::size_t place = place_in(signature.process_set, rank);
  expand_those_with(signature.process_set, name);
  Pending& each = pending(name, signature.process_set, now);
  each.submitted[place] = std::move(signature);
  each.ids[place] = id;
  each.together[place] = from.together;
  if (from.together) from.together->push_back(name);
}

void Coordinator::set_waiting(int rank, std::optional<Name> name) {
  is_changed_ = true;
  ranks_[static_cast<std::size_t>(rank)].waiting = std::move(name);
}

void Coordinator::set_activity(int rank, std::string activity) {
  ranks_[static_cast<std::size_t>(rank)].activity = std::move(activity);
}

void Coordinator::leave(int rank) {
  is_changed_ = true;
  ranks_[static_cast<std::size_t>(rank)].has_left = true;
}

void Coordinator::heard_of(int rank, Clock::time_point now) {
  ranks_[static_cast<std::size_t>(rank)].heard = now;
}

bool Coordinator::have_all_left() const { return std::ranges::all_of(ranks_, &Rank::has_left); }

std::vector<int> Coordinator::missing(const Pending& each) const {
  std::vector<int> found;
  const std::vector<int>& in = members(each.process_set);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!each.submitted[i] && !ranks_[static_cast<std::size_t>(in[i])].has_joined) found.push_back(in[i]);
  }
  return found;
}

bool Coordinator::is_complete(const Pending& each) const { return missing(each).empty(); }

std::vector<int> Coordinator::gone(const Pending& each) const {
  std::vector<int> found = missing(each);
  std::erase_if(found, [&](int rank) { return !ranks_[static_cast<std::size_t>(rank)].has_left; });
  return found;
}

std::vector<Response> Coordinator::take() {
  std::vector<Response> responses;
  if (!std::exchange(is_changed_, false)) return responses;
  take_schedules(responses);
  if (can_none_go_on()) expand_all();
  take_together(responses);
  take_complete(responses);
  take_joins(responses);
  take_stuck(responses);
  for (Response& each : responses) each.number = next_number_++;
  return responses;
}

void Coordinator::take_complete(std::vector<Response>& responses) {
  for (auto each = pending_.begin(); each != pending_.end();) {
    const std::vector<int> lost = gone(*each);
    if (!is_complete(*each) && lost.empty()) {
      ++each;
      continue;
    }
    Response response = lost.empty()
                            ? response_to(*each)
                            : refused(*each, ended_refusal(each->name, first_of(each->submitted), lost));
    by_name_.erase({each->process_set, each->name});
    each = pending_.erase(each);
    fuse(responses, std::move(response));
  }
}

Response Coordinator::response_to(Pending& each) {
  Response response;
  response.ranks = members(each.process_set);
  const std::uint64_t id = each.ids.front();
  if (id != 0 && std::ranges::all_of(each.ids, [&](std::uint64_t other) { return other == id; })) {
    response.performed.push_back({id, each.name.occurrence, std::nullopt});
    return response;
  }
  auto agreed = agree(each.name, members(each.process_set), each.submitted);
  if (auto* refusal = std::get_if<Refusal>(&agreed)) return refused(each, std::move(*refusal));
  response.performed.push_back(performed(each, std::get<Agreement>(std::move(agreed))));
  return response;
}

Performed Coordinator::performed(Pending& each, Agreement agreement) {
  if (is_set_change(agreement.call.kind)) {
    change_sets(agreement);
    return {0, each.name.occurrence, std::move(agreement)};
  }
  if (!agreement.joined.empty() || known_.size() >= kMostKnown)
    return {0, each.name.occurrence, std::move(agreement)};
  const auto [known, is_new] = ids_.try_emplace(key_of(each.name, each.submitted), known_.size() + 1);
  if (!is_new) return {known->second, each.name.occurrence, std::nullopt};
  known_[known->second] = {std::move(each.submitted), each.name.base, each.process_set, agreement};
  return {known->second, each.name.occurrence, std::move(agreement)};
}

// The ranks learn the id of a new set as `root`.
void Coordinator::change_sets(Agreement& agreement) {
  Signature& call = agreement.call;
  if (call.kind == Kind::RemoveSet) {
    sets_.erase(call.root);
    return;
  }
  call.root = next_set_++;
  sets_[call.root] = std::vector<int>(call.splits.begin(), call.splits.end());
}

Response Coordinator::refused(const Pending& each, Refusal refusal) const {
  Response response;
  response.failed = each.name;
  response.failed_set = each.process_set;
  response.refusal = std::move(refusal);
  response.ranks = members(each.process_set);
  return response;
}

const Agreement& Coordinator::agreement_of(const Performed& each) const {
  return each.agreement ? *each.agreement : known_.at(each.id).agreement;
}

std::size_t Coordinator::bytes_of(const Response& response) const {
  std::size_t bytes = 0;
  for (const Performed& each : response.performed)
    for (const TensorSpec& spec : agreement_of(each).call.tensors) bytes += spec.bytes();
  return bytes;
}

// Allreduces that are alike share a buffer; what the elements come to does not depend on it.
void Coordinator::fuse(std::vector<Response>& responses, Response response) {
  if (!response.is_refusal()) {
    const Agreement& wanted = agreement_of(response.performed.front());
    response.bytes = bytes_of(response);
    for (Response& other : responses) {
      if (other.is_refusal() || other.schedule != 0) continue;
      if (!can_share_buffer(agreement_of(other.performed.front()), wanted)) continue;
      if (other.bytes + response.bytes > settings_.fusion_bytes) continue;
      other.performed.push_back(std::move(response.performed.front()));
      other.bytes += response.bytes;
      return;
    }
  }
  responses.push_back(std::move(response));
}

void Coordinator::take_joins(std::vector<Response>& responses) {
  if (joined_order_.size() < ranks_.size()) return;
  Agreement agreement;
  agreement.base = kJoinName;
  agreement.call.kind = Kind::Join;
  agreement.call.root = joined_order_.back();
  agreement.ranks = members(0);
  Response response;
  response.performed.push_back({0, 0, std::move(agreement)});
  response.ranks = members(0);
  responses.push_back(std::move(response));
  joined_order_.clear();
  for (Rank& rank : ranks_) rank.has_joined = false;
}

Settings Settings::from_environment() {
  Settings settings;
  const auto number = [](const char* name) -> std::optional<double> {
    const char* text = std::getenv(name);
    if (text == nullptr) return std::nullopt;
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(value >= 0) || value > 1e15)
      throw OpError(ErrorKind::Value, fmt::format("{} must be a number, is \"{}\"", name, text));
    return value;
  };
  if (const auto bytes = number("KILN_FUSION_THRESHOLD"))
    settings.fusion_bytes = static_cast<std::size_t>(*bytes);
  if (const auto seconds = number("KILN_STALL_SECONDS"))
    settings.stall = std::chrono::milliseconds(static_cast<std::int64_t>(*seconds * 1000));
  return settings;
}

}  // namespace kiln::dist
