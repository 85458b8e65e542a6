// What the communication thread does: tells rank 0 what was submitted, hears what is to be done, and does it.
#include <algorithm>

#include <fmt/format.h>

#include "dist/controller/controller.h"
#include "dist/controller/coordinator_text.h"
#include "dist/controller/links.h"
#include "dist/transport/short_slice.h"

namespace kiln::dist {
namespace {

// What a message to rank 0 is made of, each item behind its name.
enum class Item : std::uint8_t { Submission, Known, Waiting, Going, Leaving };
// What a message of rank 0 is.
enum class Answer : std::uint8_t { Response, Goodbye };

// Tags below are the control messages'; MPI has tags of 31 bits.
constexpr std::uint64_t kFirstTag = 16;
constexpr std::uint64_t kTags = std::uint64_t{1} << 30U;
constexpr std::chrono::milliseconds kBeat{1000};

std::string key_of(const Name& name, const Signature& signature) {
  Writer writer;
  writer.put(name.base);
  write(writer, signature);
  const std::vector<std::byte> bytes = writer.take();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void Controller::communicate() {
  const ShortSlice slice;
  try {
    Links links(*transport_);
    while (step(links)) continue;
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
  if (is_idle)
    links.wait(std::min(kBeat, std::max(options_.settings.stall / 2, std::chrono::milliseconds(10))));
  return true;
}

void Controller::tell(Links& links, Clock::time_point now) {
  std::deque<std::shared_ptr<Entry>> submitted;
  std::optional<std::optional<Name>> waiting;
  bool leaves = false;
  {
    const std::lock_guard lock(mutex_);
    submitted.swap(submitted_);
    if (!std::exchange(is_waiting_told_, true)) waiting = waiting_;
    leaves = is_leaving_ && !std::exchange(is_leave_told_, is_leaving_);
  }
  Writer writer;
  bool is_empty = true;
  const auto put = [&](Item item) {
    writer.put(item);
    is_empty = false;
  };
  for (const auto& entry : submitted) {
    const auto known = known_ids_.find(key_of(entry->name, entry->signature));
    if (known != known_ids_.end()) {
      entry->id = known->second;
      put(Item::Known);
      writer.put(entry->id);
      writer.put(entry->name.occurrence);
    } else {
      put(Item::Submission);
      write(writer, entry->name);
      write(writer, entry->signature);
    }
  }
  if (waiting && *waiting) {
    put(Item::Waiting);
    write(writer, **waiting);
  } else if (waiting) {
    put(Item::Going);
  }
  if (leaves) put(Item::Leaving);
  if (coordinator_) {
    if (!is_empty) hear(writer.take(), 0);
  } else if (!is_empty || now - told_at_ >= kBeat) {
    told_at_ = now;
    links.send(0, writer.take());
  }
}

void Controller::hear(const std::vector<std::byte>& message, int from) {
  Reader reader(message);
  if (!coordinator_) {
    if (reader.get<Answer>() == Answer::Goodbye) {
      has_goodbye_ = true;
    } else {
      responses_.push_back(read_response(reader));
    }
    return;
  }
  const Clock::time_point now = Clock::now();
  coordinator_->heard_of(from, now);
  while (!reader.is_at_end()) {
    switch (reader.get<Item>()) {
      case Item::Submission: {
        const Name name = read_name(reader);
        coordinator_->submit(from, name, read_signature(reader), now);
        break;
      }
      case Item::Known: {
        const auto id = reader.get<std::uint64_t>();
        coordinator_->submit_known(from, id, reader.get<std::uint64_t>(), now);
        break;
      }
      case Item::Waiting:
        coordinator_->set_waiting(from, read_name(reader));
        break;
      case Item::Going:
        coordinator_->set_waiting(from, std::nullopt);
        break;
      case Item::Leaving:
        coordinator_->leave(from);
        break;
    }
  }
}

void Controller::answer(Links& links) {
  for (Response& response : coordinator_->take()) {
    Writer writer;
    writer.put(Answer::Response);
    write(writer, response);
    const std::vector<std::byte> message = writer.take();
    bool is_mine = false;
    for (const int rank : response.ranks) {
      if (rank == 0) {
        is_mine = true;
      } else {
        links.send(rank, message);
      }
    }
    if (is_mine) responses_.push_back(std::move(response));
  }
  const Clock::time_point now = Clock::now();
  for (const std::string& sentence : coordinator_->take_stalls(now)) {
    if (options_.warn) options_.warn(sentence);
  }
  {
    const std::lock_guard lock(mutex_);
    if (is_report_wanted_) {
      report_ = coordinator_->waiting(now);
      is_report_wanted_ = false;
      changed_.notify_all();
    }
  }
  if (!coordinator_->have_all_left() || has_goodbye_) return;
  Writer writer;
  writer.put(Answer::Goodbye);
  const std::vector<std::byte> goodbye = writer.take();
  for (int rank = 1; rank < transport_->size(); ++rank) links.send(rank, goodbye);
  has_goodbye_ = true;
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
  std::vector<Agreement> unkept;
  unkept.reserve(response.performed.size());
  std::vector<Work> works;
  performing_.clear();
  for (Performed& each : response.performed) {
    const Agreement* agreement = nullptr;
    if (each.id == 0) {
      agreement = &unkept.emplace_back(std::move(*each.agreement));
    } else {
      if (each.agreement) known_[each.id] = std::move(*each.agreement);
      agreement = &known_.at(each.id);
    }
    auto entry = taken(agreement->call.process_set, {agreement->base, each.occurrence});
    if (entry && each.id != 0 && entry->id != each.id)
      known_ids_[key_of(entry->name, entry->signature)] = each.id;
    Work& work = works.emplace_back();
    work.agreement = agreement;
    if (entry) {
      work.inputs = entry->inputs;
      work.total = entry->signature.total;
    }
    performing_.push_back(std::move(entry));
  }
  perform_together(response.number, works);
  performing_.clear();
}

void Controller::perform_together(std::uint64_t number, std::vector<Work>& works) {
  const std::int64_t begin = microseconds_now();
  dist::perform(*transport_, kFirstTag + number % kTags, works);
  const std::int64_t end = microseconds_now();
  const bool are_recorded = spans_.are_recorded();
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < works.size(); ++i) {
    const Agreement& agreement = *works[i].agreement;
    change_sets(agreement.call);
    const auto& entry = performing_[i];
    if (!entry) continue;
    if (are_recorded) record(*entry, begin, end);
    entry->outputs = std::move(works[i].outputs);
    entry->number = agreement.call.root;
    entry->inputs.clear();
    entry->is_done = true;
  }
  changed_.notify_all();
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

void Controller::record(const Entry& entry, std::int64_t begin, std::int64_t end) {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  const auto since = duration_cast<microseconds>(Clock::now() - entry.submitted_at).count();
  const std::string text = described(entry.name, entry.signature);
  spans_.add({text, "negotiate", std::min(microseconds_now() - since, begin), begin});
  spans_.add({text, std::string(name(entry.signature.kind)), begin, end});
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
