// What the program's thread does: submits, asks and waits.
#include "dist/controller/controller.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dist/controller/coordinator_text.h"
#include "dist/controller/links.h"
#include "dist/controller/submission.h"
#include "tensor/interrupt.h"
#include "tensor/transfer.h"

namespace kiln::dist {
namespace {

// How often a waiting program looks whether Ctrl-C was pressed; after the first time rank 0 is told that it
// waits.
constexpr std::chrono::milliseconds kNap{50};

// Ctrl-C ends all ranks: one that sees it later than others has lost them, and is stopped all the same.
[[noreturn]] void raise(const Refusal& refusal) {
  check_interrupt();
  throw OpError(refusal.kind, refusal.message, {}, refusal.help);
}

Tensor on_device(const Tensor& x, Device device) {
  if (x.device() == device) return x;
  const Tensor moved = Tensor::empty(x.sizes(), x.dtype(), device);
  transfer(moved, x);
  return moved;
}

bool has_like_result(Kind kind) {
  return kind == Kind::Allreduce || kind == Kind::Broadcast || kind == Kind::Reduce;
}

}  // namespace

Controller::Controller(std::unique_ptr<Transport> transport, Options options)
    : transport_(std::move(transport)), options_(std::move(options)), channels_(*transport_) {
  std::vector<int> all(static_cast<std::size_t>(transport_->size()));
  std::iota(all.begin(), all.end(), 0);
  sets_[0] = std::move(all);
  if (transport_->rank() == 0) coordinator_.emplace(transport_->size(), options_.settings);
  thread_ = std::thread([this] { communicate(); });
}

Controller::~Controller() {
  transport_->interrupt();
  thread_.join();
}

const std::vector<int>& Controller::set(int process_set) const {
  const auto found = sets_.find(process_set);
  if (found == sets_.end())
    throw OpError(ErrorKind::Value, fmt::format("there is no process set {}", process_set), {},
                  "`dist.add_process_set` makes one, on all ranks");
  return found->second;
}

void Controller::check_member(int process_set) const {
  const std::vector<int>& ranks = set(process_set);
  if (std::ranges::find(ranks, transport_->rank()) != ranks.end()) return;
  throw OpError(ErrorKind::Value,
                fmt::format("rank {} is not a member of process set {}, whose ranks are [{}]",
                            transport_->rank(), process_set, fmt::join(ranks, ", ")),
                {}, "ask `included()` of the set before");
}

void Controller::check_running() const {
  if (failure_) raise(*failure_);
}

// Ranks are connected by one card of each.
Tensor Controller::on_own_card(Tensor x) {
  if (x.device().kind != Device::Kind::Cuda) return x;
  if (!std::exchange(has_card_, true)) card_ = x.device();
  return on_device(x, card_);
}

std::shared_ptr<Controller::Entry> Controller::entry_of(std::span<Collective> group) {
  auto entry = std::make_shared<Entry>();
  const Collective& first = group.front();
  entry->signature = signature_of(group);
  entry->name.base = first.name.empty() ? first.place : first.name;
  if (first.name.empty()) entry->name.occurrence = ++occurrences_[{first.process_set, first.place}];
  for (Collective& each : group) {
    entry->devices.push_back(each.input.device());
    entry->inputs.push_back(std::make_shared<const Submitted>(on_own_card(std::move(each.input)),
                                                              has_like_result(entry->signature.kind)));
  }
  return entry;
}

std::uint64_t Controller::start(std::vector<Collective> collectives) {
  const std::lock_guard lock(mutex_);
  Entries entries;
  for (std::size_t at = 0; at < collectives.size();) {
    check_member(collectives[at].process_set);
    const std::size_t end = end_of_group(collectives, at);
    entries.push_back(entry_of(std::span(collectives).subspan(at, end - at)));
    at = end;
  }
  return submit(std::move(entries));
}

std::uint64_t Controller::submit(Entries entries) {
  check_running();
  for (const auto& entry : entries) {
    const auto [other, is_new] = entries_.try_emplace({entry->signature.process_set, entry->name}, entry);
    if (is_new) continue;
    const std::string what = described(entry->name, other->second->signature);
    for (const auto& each : entries) {  // none of them was told to anybody; `other` may be one of them
      const auto mine = entries_.find({each->signature.process_set, each->name});
      if (mine != entries_.end() && mine->second == each) entries_.erase(mine);
    }
    throw OpError(ErrorKind::Value, what + " is under way already", {},
                  "wait for it by `dist.synchronize(handle)`, or give another name");
  }
  const Clock::time_point now = Clock::now();
  for (const auto& entry : entries) entry->submitted_at = now;
  submitted_.push_back(entries);
  const std::uint64_t ticket = next_ticket_++;
  tickets_[ticket] = std::move(entries);
  transport_->wake();
  return ticket;
}

bool Controller::is_done(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = tickets_.find(ticket);
  return found == tickets_.end() ||
         std::ranges::all_of(found->second, [](const auto& each) { return each->is_done; });
}

Controller::Entries Controller::wait_for(std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) throw InternalError("a collective is waited for twice");
  const Entries entries = found->second;
  const auto undone = [&] {
    return std::ranges::find_if(entries, [](const auto& each) { return !each->is_done; });
  };
  const std::int64_t begin = microseconds_now();
  try {
    while (!changed_.wait_for(lock, kNap, [&] { return undone() == entries.end(); })) {
      check_interrupt();
      set_waiting((*undone())->name);
    }
  } catch (...) {
    set_waiting(std::nullopt);
    throw;
  }
  set_waiting(std::nullopt);
  if (spans_.are_recorded())
    spans_.add(
        {described(entries.front()->name, entries.front()->signature), "wait", begin, microseconds_now()});
  tickets_.erase(ticket);
  for (const auto& entry : entries) {
    if (entry->refusal) raise(*entry->refusal);
  }
  return entries;
}

void Controller::set_waiting(std::optional<Name> name) {
  if (waiting_ == name) return;
  waiting_ = std::move(name);
  is_waiting_told_ = false;
  transport_->wake();
}

Tensors Controller::wait(std::uint64_t ticket) {
  Tensors results;
  for (const auto& entry : wait_for(ticket)) {
    for (std::size_t i = 0; i < entry->outputs.size(); ++i) {
      const bool is_count = i > 0 && entry->signature.kind == Kind::Alltoall;
      results.push_back(is_count ? entry->outputs[i] : on_device(entry->outputs[i], entry->devices[i]));
    }
  }
  return results;
}

int Controller::rank(int process_set) {
  const std::lock_guard lock(mutex_);
  check_member(process_set);
  const std::vector<int>& ranks = set(process_set);
  return static_cast<int>(std::ranges::find(ranks, transport_->rank()) - ranks.begin());
}

int Controller::size(int process_set) {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(set(process_set).size());
}

std::vector<int> Controller::members(int process_set) {
  const std::lock_guard lock(mutex_);
  return set(process_set);
}

bool Controller::is_member(int process_set) {
  const std::vector<int> ranks = members(process_set);
  return std::ranges::find(ranks, transport_->rank()) != ranks.end();
}

std::int64_t Controller::run_plain(Signature signature, const std::string& base, bool is_counted) {
  std::uint64_t ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    check_member(signature.process_set);
    auto entry = std::make_shared<Entry>();
    entry->name.base = base;
    if (is_counted) entry->name.occurrence = ++occurrences_[{signature.process_set, base}];
    entry->signature = std::move(signature);
    ticket = submit({std::move(entry)});
  }
  return wait_for(ticket).front()->number;
}

void Controller::barrier(int process_set, const std::string& place) {
  Signature signature;
  signature.kind = Kind::Barrier;
  signature.process_set = process_set;
  signature.place = place;
  run_plain(std::move(signature), "dist.barrier", true);
}

int Controller::join(const std::string& place) {
  Signature signature;
  signature.kind = Kind::Join;
  signature.place = place;
  return static_cast<int>(run_plain(std::move(signature), kJoinName, false));
}

int Controller::add_process_set(std::vector<std::int64_t> ranks, const std::string& place) {
  Signature signature;
  signature.kind = Kind::AddSet;
  signature.splits = std::move(ranks);
  signature.place = place;
  return static_cast<int>(run_plain(std::move(signature), "dist.add_process_set", true));
}

void Controller::remove_process_set(int process_set, const std::string& place) {
  Signature signature;
  signature.kind = Kind::RemoveSet;
  signature.root = process_set;
  signature.place = place;
  run_plain(std::move(signature), "dist.remove_process_set", true);
}

void Controller::leave() {
  std::unique_lock lock(mutex_);
  is_leaving_ = true;
  transport_->wake();
  while (!changed_.wait_for(lock, kNap, [&] { return has_ended_; })) check_interrupt();
}

std::vector<std::string> Controller::report() {
  std::unique_lock lock(mutex_);
  if (transport_->rank() == 0) {
    is_report_wanted_ = true;
    transport_->wake();
    while (!changed_.wait_for(lock, kNap, [&] { return !is_report_wanted_ || has_ended_; }))
      check_interrupt();
    return report_;
  }
  std::vector<std::string> lines;
  for (const auto& [key, entry] : entries_)
    lines.push_back(
        fmt::format("rank {} has called {}", transport_->rank(), described(entry->name, entry->signature)));
  return lines;
}

}  // namespace kiln::dist
