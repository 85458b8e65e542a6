#include "dist/launch/crew.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "dist/launch/remote_command.h"

namespace kiln::dist {
namespace {

std::string make_secret() {
  std::array<std::uint64_t, 2> numbers{};
  if (getrandom(numbers.data(), sizeof(numbers), 0) != sizeof(numbers))
    throw std::runtime_error("the system gives no random bytes for the job's secret");
  return std::to_string(numbers[0]) + std::to_string(numbers[1]);
}

bool is_this_host(const std::string& name) { return name == "localhost" || name == "127.0.0.1"; }

std::vector<HostSlots> first_hosts(const JobOptions& options, std::optional<Discovery>& discovery) {
  if (discovery) return discovery->ask();
  return options.hosts.empty() ? std::vector{HostSlots{"localhost", options.size}} : options.hosts;
}

int slots_of(const std::vector<HostSlots>& hosts) {
  int slots = 0;
  for (const HostSlots& host : hosts) slots += host.slots;
  return slots;
}

}  // namespace

Crew::Crew(Poller& poller, const JobOptions& options, RankProcess::Show show,
           std::function<void(const std::string&)> say)
    : poller_(poller),
      options_(options),
      show_(std::move(show)),
      say_(std::move(say)),
      discovery_(options.discover.empty()
                     ? std::nullopt
                     : std::optional<Discovery>(std::in_place, poller, options.discover)),
      hosts_(first_hosts(options, discovery_)),
      secret_(make_secret()),
      rendezvous_(poller_, has_other_hosts() ? "0.0.0.0" : "127.0.0.1", secret_,
                  {[this](const Hello& hello) { welcome(hello); },
                   [this](int number) { fault(number, "closed its connection to the launcher"); },
                   [this](int number) { fault(number, silence_text()); },
                   [this](int number, std::vector<int> others) { note_unheard(number, std::move(others)); },
                   [this](int number) { note_ready(number); }}) {
  const int needed = is_elastic() ? options_.least : options_.size;
  if (slots_of(hosts_) < needed) {
    throw std::invalid_argument("the hosts take " + std::to_string(slots_of(hosts_)) + " ranks, not " +
                                std::to_string(needed));
  }
}

bool Crew::has_other_hosts() const {
  return discovery_ ||
         std::ranges::any_of(hosts_, [](const HostSlots& host) { return !is_this_host(host.name); });
}

bool Crew::is_local(const Worker& worker) const { return is_this_host(hosts_[worker.host].name); }

Crew::Worker* Crew::find(int number) {
  return number < 0 || number >= static_cast<int>(workers_.size())
             ? nullptr
             : workers_[static_cast<std::size_t>(number)].get();
}

std::vector<Crew::Worker*> Crew::members() const {
  std::vector<Worker*> members;
  for (const auto& worker : workers_)
    if (worker->part == Part::Member) members.push_back(worker.get());
  std::ranges::stable_sort(members, {}, &Worker::since);
  return members;
}

std::vector<Crew::Worker*> Crew::with_coming() const {
  std::vector<Worker*> all = members();
  for (const auto& worker : workers_)
    if (worker->part == Part::Coming) all.push_back(worker.get());
  return all;
}

std::string Crew::rendezvous_addresses() const {
  const std::string port = ":" + std::to_string(rendezvous_.port());
  std::string addresses;
  if (has_other_hosts())
    for (const std::string& address : host_addresses()) addresses += address + port + ",";
  return addresses + "127.0.0.1" + port;
}

void Crew::start() {
  fill_hosts(Part::Member);
  place(members());
  for (Worker* const worker : members()) start(*worker);
}

void Crew::add(std::size_t host, Part part) {
  auto worker = std::make_unique<Worker>();
  worker->number = static_cast<int>(workers_.size());
  worker->host = host;
  worker->part = part;
  workers_.push_back(std::move(worker));
}

// Takes in workers where there are free slots, which are yet to be started.
void Crew::fill_hosts(Part part) {
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    const std::vector<Worker*> all = with_coming();
    const auto here = std::ranges::count(all, host, &Worker::host);
    for (int free = hosts_[host].slots - static_cast<int>(here); free > 0; --free)
      if (static_cast<int>(with_coming().size()) < options_.size) add(host, part);
  }
}

// Gives ranks in this order.
void Crew::place(const std::vector<Worker*>& all) {
  std::vector<std::size_t> hosts;
  for (const Worker* worker : all) hosts.push_back(worker->host);
  const std::vector<RankPlace> places = places_on(hosts);
  for (std::size_t k = 0; k < all.size(); ++k) all[k]->place = places[k];
}

void Crew::start(Worker& worker) {
  LaunchedRank rank;
  rank.place = worker.place;
  rank.number = worker.number;
  rank.rendezvous = rendezvous_addresses();
  rank.secret = secret_;
  rank.epoch = worker.part == Part::Member ? epoch_ : -1;
  rank.is_prompt = options_.is_prompt;
  rank.is_elastic = is_elastic();
  ChildOptions child;
  child.environment = environment_of(rank);
  if (options_.color) child.environment.emplace_back("CLICOLOR_FORCE=1");
  child.command = options_.command;
  if (!is_local(worker)) {
    // What stands later counts.
    const std::vector<std::string> ours = std::exchange(child.environment, settings_to_send());
    child.environment.insert(child.environment.end(), ours.begin(), ours.end());
    child.command =
        remote_command(options_.agent, hosts_[worker.host].name, child.environment, options_.command);
    child.environment.clear();
  }
  // The rank that reads from a terminal is where the terminal's signals go, which would end an agent.
  const bool is_first = worker.number == 0;
  const bool has_terminal = is_first && (is_local(worker) || options_.is_prompt);
  child.reads_input = has_terminal || (is_first && isatty(STDIN_FILENO) == 0);
  child.own_group = !has_terminal;
  child.captures_output = !(options_.is_prompt && is_first);
  worker.process = std::make_unique<RankProcess>(poller_, worker.number, child, show_);
}

bool Crew::has_failed() const {
  return std::ranges::any_of(members(),
                             [](const Worker* worker) { return worker->process->end().has_failed(); });
}

bool Crew::is_over() {
  bool members_are = true, all = true;
  for (const auto& worker : workers_) {
    const bool is_over = !worker->process || worker->process->is_over();
    members_are = members_are && (is_over || worker->part != Part::Member);
    all = all && is_over;
  }
  // There are no others left to meet.
  for (const auto& worker : workers_)
    if (members_are && worker->part == Part::Coming && worker->process) worker->process->stop(SIGKILL);
  return all;
}

std::vector<RankEnd> Crew::ends() const {
  std::vector<RankEnd> ends;
  for (const auto& worker : workers_)
    if (worker->process) ends.push_back(worker->process->end());
  // Who was lost on the way is a reason for others to fail, and none for the job where they did not.
  const bool failed = has_failed();
  std::erase_if(ends, [&](const RankEnd& end) {
    const Part part = workers_[std::size_t(end.rank)]->part;
    return part == Part::Coming || (part == Part::Gone && !failed);
  });
  return ends;
}

void Crew::interrupt(bool by_terminal) {
  for (const Worker* const worker : members()) {
    if (!is_local(*worker)) {
      rendezvous_.tell(worker->number, {Message::Kind::Interrupt, {}, {}});
    } else if (worker->number != 0 || !by_terminal) {
      worker->process->signal(SIGINT);
    }
  }
}

void Crew::signal(int number) {
  for (const Worker* const worker : members())
    if (is_local(*worker)) worker->process->signal(number);
}

void Crew::stop(int number) {
  is_ending_ = true;
  rendezvous_.tell_all({Message::Kind::Stop, {}, {}});
  for (const auto& worker : workers_)
    if (worker->process) worker->process->stop(number);
}

}  // namespace kiln::dist
