// Who is part of a job as epochs go by: ranks that are lost are taken out, those of new hosts are taken in.
#include <algorithm>
#include <csignal>
#include <utility>

#include "dist/launch/crew.h"

namespace kiln::dist {
namespace {

using Clock = std::chrono::steady_clock;

// How long ranks that are ready wait for others that are coming.
constexpr std::chrono::milliseconds kTogether{1000};

}  // namespace

void Crew::welcome(const Hello& hello) {
  const Worker* const worker = find(hello.rank);
  if (worker == nullptr || worker->part == Part::Gone) return rendezvous_.drop(hello.rank);
  if (!program_) {
    program_ = hello;
  } else if (program_->program != hello.program) {
    fault(hello.rank,
          "runs another program than rank " + std::to_string(program_->rank) + ": the files differ");
  }
  if (worker->part == Part::Member && hello.epoch < epoch_) tell_epoch(*worker);
}

void Crew::fault(int number, const std::string& what) {
  Worker* const worker = find(number);
  if (!is_ending_ && worker != nullptr && worker->part != Part::Gone && worker->process)
    worker->process->fault(what);
}

void Crew::note_unheard(int number, std::vector<int> others) {
  unheard_.note(number, std::move(others), Clock::now());
}

// Ranks that reach the launcher, but not each other, cannot both go on.
void Crew::judge_unheard() {
  const auto is_gone = [&](int number) {
    const Worker* const worker = find(number);
    const auto silence = rendezvous_.silence_of(number);
    return worker == nullptr || worker->part != Part::Member || !worker->process->is_running() || !silence ||
           *silence > longest_silence() / 3;
  };
  for (const auto& [number, unreached] : unheard_.leavers(Clock::now(), 2 * beat_interval(), is_gone))
    fault(number, "lost its connection to rank " + std::to_string(unreached));
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
  take_in_ready();
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
  for (Worker* const worker : lost) take_out(*worker);
  say_(sentence + "; " + std::to_string(left) + (left == 1 ? " rank goes on" : " ranks go on"));
  for (const Worker* const worker : members())
    rendezvous_.tell(worker->number, {Message::Kind::Lost, std::to_string(epoch_) + ranks, sentence});
  begin_epoch();
}

bool Crew::are_members_running() const {
  return std::ranges::all_of(members(), [](const Worker* worker) { return worker->process->is_running(); });
}

// Hosts that are new take new ranks, unless the work is about to be done: new ranks cannot meet ranks that
// have left.
void Crew::take_hosts(const std::vector<HostSlots>& hosts) {
  if (!are_members_running()) return;
  for (const HostSlots& found : hosts) {
    const auto known = std::ranges::find(hosts_, found.name, &HostSlots::name);
    if (known == hosts_.end()) hosts_.push_back(found);
  }
  const std::size_t before = workers_.size();
  fill_hosts(Part::Coming);
  if (workers_.size() == before) return;
  place(with_coming());
  for (std::size_t number = before; number < workers_.size(); ++number) start(*workers_[number]);
  place(members());  // for them nothing has changed yet
}

void Crew::note_ready(int number) {
  Worker* const worker = find(number);
  if (worker == nullptr || worker->part != Part::Coming) return;
  worker->is_ready = true;
  if (!first_ready_) first_ready_ = Clock::now();
}

// The others train on until new ranks are ready, and do without those that fail before. Ranks that are ready
// within a time are taken in together.
void Crew::take_in_ready() {
  std::vector<Worker*> ready;
  bool are_all = true;
  for (Worker* const worker : with_coming()) {
    if (worker->part != Part::Coming) continue;
    if (!worker->process->is_running() || worker->process->end().has_failed()) {
      leave_out(*worker);
    } else if (worker->is_ready) {
      ready.push_back(worker);
    } else {
      are_all = false;
    }
  }
  if (ready.empty() || !are_members_running()) return;
  if (!are_all && Clock::now() - *first_ready_ < kTogether) return;
  first_ready_.reset();
  for (Worker* const worker : ready) {
    worker->part = Part::Member;
    worker->since = epoch_ + 1;
  }
  say_(std::to_string(ready.size()) + " more on new hosts: " + std::to_string(members().size()) +
       " ranks go on");
  begin_epoch();
}

void Crew::leave_out(Worker& worker) {
  const RankEnd& end = worker.process->end();
  say_(sentence_of(end) + " before it met the others" + (end.error ? "\n" + end.error->text : ""));
  take_out(worker);
}

// Another one would fail there, too.
void Crew::take_out(Worker& worker) {
  worker.part = Part::Gone;
  worker.process->stop(SIGKILL);
  rendezvous_.drop(worker.number);
  --hosts_[worker.host].slots;
}

void Crew::begin_epoch() {
  ++epoch_;
  unheard_.clear();
  place(members());
  for (const Worker* const worker : members()) tell_epoch(*worker);
}

void Crew::tell_epoch(const Worker& worker) {
  rendezvous_.tell(worker.number, {Message::Kind::Epoch, std::to_string(epoch_), place_text(worker.place)});
}

}  // namespace kiln::dist
