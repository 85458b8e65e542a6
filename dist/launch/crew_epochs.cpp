// Who is part of a job as epochs go by: ranks that are lost are taken out, those of new hosts are taken in.
#include <algorithm>
#include <csignal>
#include <utility>

#include "dist/launch/crew.h"

namespace kiln::dist {

void Crew::welcome(const Hello& hello) {
  const Worker* const worker = find(hello.rank);
  if (worker == nullptr || !worker->is_member) return rendezvous_.drop(hello.rank);
  if (!program_) {
    program_ = hello;
  } else if (program_->program != hello.program) {
    fault(hello.rank,
          "runs another program than rank " + std::to_string(program_->rank) + ": the files differ");
  }
  if (hello.epoch < epoch_) tell_epoch(*worker);
}

void Crew::fault(int number, const std::string& what) {
  Worker* const worker = find(number);
  if (!is_ending_ && worker != nullptr && worker->is_member && worker->process) worker->process->fault(what);
}

void Crew::note_unheard(int number, int epoch, std::vector<int> others) {
  const Worker* const worker = find(number);
  if (worker == nullptr || !worker->is_member || epoch != epoch_) return;
  std::erase_if(others, [&](int rank) { return rank < 0 || rank >= worker->place.size; });
  unheard_.note(worker->place.rank, std::move(others), UnheardRanks::Clock::now());
}

// Ranks that reach the launcher, but not each other, cannot both go on.
void Crew::judge_unheard() {
  const std::vector<Worker*> all = members();
  const auto silent = [&](int rank) {
    const Worker& worker = *all.at(static_cast<std::size_t>(rank));
    const auto silence = rendezvous_.silence_of(worker.number);
    return !worker.process->is_running() || !silence || *silence > 3 * beat_interval();
  };
  for (const auto& [rank, unreached] :
       unheard_.leavers(UnheardRanks::Clock::now(), beat_interval() / 2, silent))
    fault(all.at(static_cast<std::size_t>(rank))->number,
          "lost its connection to rank " + std::to_string(unreached));
}

bool Crew::is_lost(const Worker& worker) const {
  const RankEnd& end = worker.process->end();
  if (end.error || !end.has_failed()) return false;
  // An agent ends with a code of its own where the process that it started was killed, or its host is gone.
  const bool by_agent = !is_local(worker) && end.exit_code.value_or(0) > 128;
  return end.signal || by_agent || worker.process->has_long_been_faulty();
}

void Crew::renew() {
  if (is_ending_) return;
  judge_unheard();
  if (!is_elastic()) return;
  take_out_lost();
  if (!discovery_) return;
  if (const auto hosts = discovery_->look()) take_hosts(*hosts);
}

void Crew::take_out_lost() {
  std::vector<Worker*> lost;
  std::string ranks, sentence;
  for (Worker* const worker : members()) {
    if (!is_lost(*worker)) continue;
    lost.push_back(worker);
    ranks += " " + std::to_string(worker->place.rank);
    sentence += (sentence.empty() ? "" : ", ") + sentence_of(worker->process->end());
  }
  const int left = static_cast<int>(members().size() - lost.size());
  if (lost.empty() || left < options_.least) return;
  for (Worker* const worker : lost) {
    worker->is_member = false;
    worker->process->stop(SIGKILL);
    rendezvous_.drop(worker->number);
    --hosts_[worker->host].slots;  // another one would die there, too
  }
  say_(sentence + "; " + std::to_string(left) + (left == 1 ? " rank goes on" : " ranks go on"));
  for (const Worker* const worker : members())
    rendezvous_.tell(worker->number, {Message::Kind::Lost, std::to_string(epoch_) + ranks, sentence});
  begin_epoch();
}

// Hosts that are new take new ranks, unless the work is about to be done: new ranks cannot meet ranks that
// have left.
void Crew::take_hosts(const std::vector<HostSlots>& hosts) {
  if (!std::ranges::all_of(members(), [](const Worker* worker) { return worker->process->is_running(); }))
    return;
  for (const HostSlots& found : hosts) {
    const auto known = std::ranges::find(hosts_, found.name, &HostSlots::name);
    if (known == hosts_.end()) hosts_.push_back(found);
  }
  const std::size_t before = workers_.size();
  fill_hosts();
  if (workers_.size() == before) return;
  say_(std::to_string(workers_.size() - before) + " more on new hosts: " + std::to_string(members().size()) +
       " ranks go on");
  begin_epoch();
  for (std::size_t number = before; number < workers_.size(); ++number) start(*workers_[number]);
}

void Crew::begin_epoch() {
  ++epoch_;
  unheard_.clear();
  place();
  for (const Worker* const worker : members()) tell_epoch(*worker);
}

void Crew::tell_epoch(const Worker& worker) {
  rendezvous_.tell(worker.number, {Message::Kind::Epoch, std::to_string(epoch_), place_text(worker.place)});
}

}  // namespace kiln::dist
