// Owns the ranks of a job as their launcher sees them: who is part of it, where each stands, and in which
// epoch.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dist/launch/discovery.h"
#include "dist/launch/job.h"
#include "dist/launch/poller.h"
#include "dist/launch/rank_process.h"
#include "dist/launch/rendezvous.h"
#include "dist/launch/unheard_ranks.h"
#include "dist/launch/verdict.h"

namespace kiln::dist {

class Crew {
 public:
  /// `show` takes lines of ranks, `say` sentences of the launcher. Throws std::runtime_error and
  /// std::invalid_argument.
  Crew(Poller& poller, const JobOptions& options, RankProcess::Show show,
       std::function<void(const std::string&)> say);

  /// Starts the ranks of the first epoch. Throws std::runtime_error.
  void start();
  /// Signs of life; to be called once in `beat_interval()`.
  void tick() { rendezvous_.tick(); }
  /// Finds ranks that others do not reach; takes out ranks that were lost and takes in hosts that were found,
  /// where the job is elastic.
  void renew();
  /// Has a rank failed that the job does not go on without?
  bool has_failed() const;
  /// Looks whether processes have ended. True when all have.
  bool is_over();
  std::vector<RankEnd> ends() const;

  /// Ctrl-C, which reached this host's terminal where `by_terminal`.
  void interrupt(bool by_terminal);
  /// Sends a signal to the ranks of this host.
  void signal(int number);
  /// Ends all ranks by a signal.
  void stop(int number);

 private:
  // Ranks of new hosts are members from the epoch on that begins when they are ready.
  enum class Part : std::uint8_t { Coming, Member, Gone };
  // A process, which keeps its number while epochs go by.
  struct Worker {
    int number;
    std::size_t host;
    RankPlace place;
    Part part;
    bool is_ready = false;  // where it is coming
    int since = 0;          // the epoch in which it became a member
    std::unique_ptr<RankProcess> process;
  };

  bool is_elastic() const { return options_.least > 0; }
  bool has_other_hosts() const;
  bool is_local(const Worker& worker) const;
  Worker* find(int number);
  std::vector<Worker*> members() const;      // in the order of their ranks: rank 0 has been there longest
  std::vector<Worker*> with_coming() const;  // the members first
  std::string rendezvous_addresses() const;

  void add(std::size_t host, Part part);
  void start(Worker& worker);
  void fill_hosts(Part part);
  static void place(const std::vector<Worker*>& all);
  void take_hosts(const std::vector<HostSlots>& hosts);
  bool are_members_running() const;
  void take_in_ready();
  void leave_out(Worker& worker);
  void take_out(Worker& worker);
  void begin_epoch();
  void tell_epoch(const Worker& worker);
  bool is_lost(const Worker& worker) const;
  void take_out_lost();

  void welcome(const Hello& hello);
  void fault(int number, const std::string& what);
  void note_unheard(int number, std::vector<int> others);
  void note_ready(int number);
  void judge_unheard();

  Poller& poller_;
  const JobOptions& options_;
  RankProcess::Show show_;
  std::function<void(const std::string&)> say_;
  std::optional<Discovery> discovery_;
  std::vector<HostSlots> hosts_;  // a host that was left has no slots
  std::string secret_;
  Rendezvous rendezvous_;
  UnheardRanks unheard_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::optional<Hello> program_;  // of the rank that came first
  int epoch_ = 0;
  std::optional<std::chrono::steady_clock::time_point> first_ready_;  // of those that are coming
  bool is_ending_ = false;
};

}  // namespace kiln::dist
