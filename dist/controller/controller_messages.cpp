// What ranks and rank 0 say to each other: what was submitted, and what is to be done.
#include <algorithm>

#include "dist/controller/controller.h"
#include "dist/controller/links.h"

namespace kiln::dist {
namespace {

// What a message to rank 0 is made of, each item behind its name.
enum class Item : std::uint8_t {
  Submission,
  Known,
  Together,
  TogetherEnd,
  Schedule,
  Waiting,
  Going,
  Activity,
  Leaving
};
// What a message of rank 0 is.
enum class Answer : std::uint8_t { Response, Goodbye };

// Reductions that the program names: each name is submitted once at a time.
template <class Entries>
bool may_be_scheduled(const Entries& together) {
  return together.size() > 1 && std::ranges::all_of(together, [&](const auto& each) {
           return each->signature.kind == Kind::Allreduce && each->name.occurrence == 0 &&
                  each->signature.process_set == together.front()->signature.process_set;
         });
}

template <class Entries>
std::string key_of_all(const Entries& together) {
  Writer writer;
  for (const auto& each : together) write_key(writer, each->name, each->signature);
  return writer.text();
}

}  // namespace

void Controller::tell(Links& links, Clock::time_point now) {
  std::deque<Entries> submitted;
  std::optional<std::optional<Name>> waiting;
  bool leaves = false;
  {
    const std::lock_guard lock(mutex_);
    submitted.swap(submitted_);
    if (!std::exchange(is_waiting_told_, true)) waiting = waiting_;
    leaves = is_leaving_ && !std::exchange(is_leave_told_, is_leaving_);
  }
  Writer writer;
  for (const Entries& together : submitted) tell_of(together, writer);
  if (waiting && *waiting) {
    writer.put(Item::Waiting);
    write(writer, **waiting);
  } else if (waiting) {
    writer.put(Item::Going);
  }
  if (leaves) writer.put(Item::Leaving);
  const bool is_empty = submitted.empty() && !waiting && !leaves;
  if (is_empty && now - told_at_ < kBeat) return;
  tell_activity(writer);
  told_at_ = now;
  coordinator_ ? hear(writer.take(), 0) : links.send(0, writer.take());
}

void Controller::tell_activity(Writer& writer) {
  std::string activity = options_.activity ? options_.activity() : "";
  if (activity.empty() && told_activity_.empty()) return;
  writer.put(Item::Activity);
  writer.put(activity);
  told_activity_ = std::move(activity);
}

std::string Controller::key_of(const Entry& entry) {
  Writer writer;
  write_key(writer, entry.name, entry.signature);
  return writer.text();
}

void Controller::tell_of(const Entries& together, Writer& writer) {
  if (!may_be_scheduled(together)) {
    for (const auto& entry : together) tell_of(*entry, writer);
    return;
  }
  if (const auto known = schedule_numbers_.find(key_of_all(together)); known != schedule_numbers_.end()) {
    writer.put(Item::Schedule);
    writer.put(known->second);
    const std::vector<std::uint64_t>& ids = schedules_.at(known->second);
    for (std::size_t i = 0; i < together.size(); ++i) together[i]->id = ids[i];
    return;
  }
  writer.put(Item::Together);
  for (const auto& entry : together) tell_of(*entry, writer);
  writer.put(Item::TogetherEnd);
}

void Controller::tell_of(Entry& entry, Writer& writer) {
  const auto known = known_ids_.find(key_of(entry));
  if (known == known_ids_.end()) {
    writer.put(Item::Submission);
    write(writer, entry.name);
    write(writer, entry.signature);
    return;
  }
  entry.id = known->second;
  writer.put(Item::Known);
  writer.put(entry.id);
  writer.put(entry.name.occurrence);
}

// What all ranks of a set submit at once has one number from then on, by which this rank tells of all of it.
void Controller::learn_schedule(const Response& response) {
  std::vector<std::uint64_t>& ids = schedules_[response.schedule];
  ids.clear();
  for (const Performed& each : response.performed) ids.push_back(each.id);
  schedule_numbers_[key_of_all(performing_)] = response.schedule;
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
      case Item::Together:
        coordinator_->begin_together(from);
        break;
      case Item::TogetherEnd:
        coordinator_->end_together(from);
        break;
      case Item::Schedule:
        coordinator_->submit_schedule(from, reader.get<std::uint64_t>(), now);
        break;
      case Item::Waiting:
        coordinator_->set_waiting(from, read_name(reader));
        break;
      case Item::Going:
        coordinator_->set_waiting(from, std::nullopt);
        break;
      case Item::Activity:
        coordinator_->set_activity(from, reader.text());
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

}  // namespace kiln::dist
