// Owns the agreement of a job: rank 0 hears what each rank submits and says, in one order for all process
// sets, what is performed. One order keeps ranks that are in two sets from waiting for each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dist/controller/response.h"

namespace kiln::dist {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::size_t fusion_bytes = std::size_t{64}
                             << 20;       // KILN_FUSION_THRESHOLD: collectives up to this are one buffer
  std::chrono::milliseconds stall{5000};  // KILN_STALL_SECONDS: after this a sentence says who is missing
  static Settings from_environment();     // throws OpError (Value) for what is no number
};

class Coordinator {
 public:
  Coordinator(int size, Settings settings);

  void submit(int rank, const Name& name, Signature signature, Clock::time_point now);
  /// The signature that this rank had in an agreement.
  void submit_known(int rank, std::uint64_t id, std::uint64_t occurrence, Clock::time_point now);
  /// What the rank submits in between, it submits at once. What all ranks of a set submit so, alike and in
  /// one order, is a schedule, which has a number.
  void begin_together(int rank);
  void end_together(int rank);
  /// All that has this number. Where other ranks submit parts of it otherwise, it counts as submitted by
  /// names.
  void submit_schedule(int rank, std::uint64_t number, Clock::time_point now);
  /// The rank's program waits for this collective, and can submit nothing until it is done; nothing: it goes
  /// on.
  void set_waiting(int rank, std::optional<Name> name);
  /// What the rank's program does: "compiles `f`"; "": nothing is known.
  void set_activity(int rank, std::string activity);
  /// The rank's program has ended.
  void leave(int rank);
  void heard_of(int rank, Clock::time_point now);

  /// What can be performed or has failed since the last call.
  std::vector<Response> take();
  /// Sentences about collectives for which some ranks wait longer than the settings say, one for each.
  std::vector<std::string> take_stalls(Clock::time_point now);
  /// How long until there may be such a sentence, a millisecond at least.
  std::chrono::milliseconds until_stall(Clock::time_point now) const;
  bool have_all_left() const;
  /// Of what some rank is not there yet, one line each: for who looks.
  std::vector<std::string> waiting(Clock::time_point now);

 private:
  using Names = std::vector<Name>;
  struct Pending {
    Name name;
    int process_set;
    Submissions submitted;           // by place in the set
    std::vector<std::uint64_t> ids;  // of each, 0 unless known
    std::vector<std::shared_ptr<const Names>>
        together;  // of each, what else it submitted at once; null: alone
    Clock::time_point since;
    bool is_told = false;
  };
  struct Rank {
    std::optional<Name> waiting;
    bool has_left = false, has_joined = false;
    std::string last;      // what it submitted last, for messages
    std::string activity;  // what it does since then, where that is known
    Clock::time_point heard{};
    std::shared_ptr<Names> together;  // what it submits at once just now
  };
  struct Known {
    Submissions submitted;
    std::string base;
    int process_set;
    Agreement agreement;
  };
  using List = std::list<Pending>;
  struct Schedule {
    int process_set;
    std::shared_ptr<const Names> names;
    std::vector<std::uint64_t> ids;       // of the agreements
    std::set<std::uint64_t> overlapping;  // other schedules with one of the names
    // Of what is under way.
    std::vector<bool> submitted;  // by place in the set
    std::size_t count = 0;        // of ranks that have
    Clock::time_point since{};
  };

  const std::vector<int>& members(int process_set) const { return sets_.at(process_set); }
  Pending& pending(const Name& name, int process_set, Clock::time_point now);
  void add(int rank, const Name& name, std::uint64_t id, Signature signature, Clock::time_point now);
  std::size_t place_in(int process_set, int rank) const;
  void submit_by_names(const Schedule& schedule, std::size_t place, Clock::time_point since);
  void expand(Schedule& schedule);
  void expand_all();
  void expand_those_with(int process_set, const Name& name);
  bool is_in_the_way(std::uint64_t number, const Schedule& schedule) const;
  void take_schedules(std::vector<Response>& responses);
  void take_together(std::vector<Response>& responses);
  std::vector<List::iterator> submitted_with(const Pending& first) const;
  std::optional<Response> scheduled(const std::vector<Response>& parts, int process_set,
                                    const std::shared_ptr<const Names>& names);
  std::uint64_t number_of(int process_set, const std::shared_ptr<const Names>& names,
                          const std::vector<std::uint64_t>& ids);
  bool can_none_go_on() const;
  bool is_complete(const Pending& each) const;
  std::vector<int> missing(const Pending& each) const;
  std::vector<int> gone(const Pending& each) const;
  void take_complete(std::vector<Response>& responses);
  void take_joins(std::vector<Response>& responses);
  void take_stuck(std::vector<Response>& responses);
  bool is_stuck(int rank) const;
  Response response_to(Pending& each);
  Performed performed(Pending& each, Agreement agreement);
  void change_sets(Agreement& agreement);
  void fuse(std::vector<Response>& responses, Response response);
  Response refused(const Pending& each, Refusal refusal) const;
  std::string whereabouts(int rank, Clock::time_point now) const;
  const Pending* awaited(int rank) const;  // null: nothing
  std::string awaited_text(int rank) const;
  const Agreement& agreement_of(const Performed& each) const;
  std::size_t bytes_of(const Response& response) const;

  Settings settings_;
  std::vector<Rank> ranks_;
  std::map<int, std::vector<int>> sets_;
  int next_set_ = 1;
  List pending_;  // in the order in which they were first submitted
  std::map<std::pair<int, Name>, List::iterator> by_name_;
  std::vector<int> joined_order_;
  std::map<std::string, std::uint64_t> ids_;  // by what all ranks said
  std::map<std::uint64_t, Known> known_;
  std::map<std::uint64_t, Schedule> schedules_;
  std::map<std::pair<int, Name>, std::vector<std::uint64_t>> schedules_with_;  // by name
  std::map<std::vector<std::uint64_t>, std::uint64_t> schedule_numbers_;       // by ids
  std::vector<std::uint64_t> complete_schedules_;
  std::uint64_t next_number_ = 0;
  bool is_changed_ = false;  // was anything heard since the last `take`?
};

}  // namespace kiln::dist
