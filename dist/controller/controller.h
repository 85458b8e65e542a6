// Owns a rank's part in a job: what its program submits, the thread that agrees on it with the other ranks
// and performs it, and what the program waits for.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "dist/cards/channels.h"
#include "dist/controller/coordinator.h"
#include "dist/controller/executor.h"
#include "dist/controller/spans.h"
#include "dist/transport/transport.h"
#include "tensor/collective.h"

namespace kiln::dist {

class Links;

/// All functions but the destructor may be called from any thread.
class Controller final : public Collectives {
 public:
  struct Options {
    Settings settings;
    std::function<void(const std::string& sentence)>
        warn;  // of collectives that wait for long; called on rank 0
    /// What the program does just now: "compiles `f`", or "". Asked on the communication thread.
    std::function<std::string()> activity{};
  };
  Controller(std::unique_ptr<Transport> transport, Options options);
  /// Drops the links at once: other ranks that need this one see that it is lost, unless `leave` was called.
  ~Controller() override;

  std::uint64_t start(std::vector<Collective> collectives) override;
  bool is_done(std::uint64_t ticket) override;
  Tensors wait(std::uint64_t ticket) override;
  int rank(int process_set) override;
  int size(int process_set) override;

  void barrier(int process_set, const std::string& place);
  /// Stands in with neutral elements until all ranks have joined. Gives the last one that did.
  int join(const std::string& place);
  /// The id of a new set, the same on all ranks, which all must call it with the same ranks.
  int add_process_set(std::vector<std::int64_t> ranks, const std::string& place);
  void remove_process_set(int process_set, const std::string& place);
  std::vector<int> members(int process_set);
  bool is_member(int process_set);

  /// Waits until all ranks have called it; serves those that have not.
  void leave();
  /// What each rank waits for, as rank 0 knows it; on the other ranks what this one waits for.
  std::vector<std::string> report();
  /// How cards of ranks are connected so far.
  const Channels& channels() const { return channels_; }
  /// What was done when.
  Spans& spans() { return spans_; }
  std::string_view transport_name() const { return transport_->name(); }

 private:
  // A collective that was submitted.
  struct Entry {
    Name name;
    Signature signature;
    std::vector<std::shared_ptr<const Submitted>> inputs;
    std::vector<Device> devices;
    Clock::time_point submitted_at{};
    std::uint64_t id = 0;  // under which it was told; 0: in full
    bool is_done = false;
    std::vector<Tensor> outputs;
    std::int64_t number = 0;  // what the ranks agreed on beside tensors
    std::optional<Refusal> refusal;
  };
  using Key = std::pair<int, Name>;
  using Entries = std::vector<std::shared_ptr<Entry>>;

  Tensor on_own_card(Tensor x);
  std::shared_ptr<Entry> entry_of(std::span<Collective> group);
  std::uint64_t submit(Entries entries);
  std::int64_t run_plain(Signature signature, const std::string& base, bool is_counted);
  Entries wait_for(std::uint64_t ticket);
  void set_waiting(std::optional<Name> name);
  void check_member(int process_set) const;
  void check_running() const;
  const std::vector<int>& set(int process_set) const;

  // The communication thread.
  void communicate();
  bool step(Links& links);
  void tell(Links& links, Clock::time_point now);
  void tell_of(const Entries& together, Writer& writer);
  void tell_of(Entry& entry, Writer& writer);
  static std::string key_of(const Entry& entry);
  void tell_activity(Writer& writer);
  void hear(const std::vector<std::byte>& message, int from);
  void answer(Links& links);
  void perform(Response response);
  void learn_schedule(const Response& response);
  void perform_together(std::uint64_t number, std::vector<Work>& works);
  void perform_on_cards(const Group& group, std::vector<Work>& works);
  void change_sets(const Signature& call);
  void record(const std::vector<PerformedPhase>& phases, std::int64_t end);
  void refuse(const Response& response);
  void fail(ErrorKind kind, const std::string& message);
  std::shared_ptr<Entry> taken(int process_set, const Name& name);

  const std::unique_ptr<Transport> transport_;
  const Options options_;
  Spans spans_;
  Channels channels_;  // of the communication thread

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entries> submitted_;                  // not yet told; those submitted at once together
  std::map<Key, std::shared_ptr<Entry>> entries_;  // under way
  std::map<std::uint64_t, Entries> tickets_;
  std::uint64_t next_ticket_ = 1;
  std::map<std::pair<int, std::string>, std::uint64_t> occurrences_;
  std::map<int, std::vector<int>> sets_;
  Device card_{Device::Kind::Cuda, 0};  // what elements on cards are exchanged by: that of the first of them
  bool has_card_ = false;
  std::optional<Name> waiting_;  // what the program waits for, once it has for a while
  bool is_waiting_told_ = true;
  bool is_leaving_ = false, has_ended_ = false;
  std::optional<Refusal> failure_;  // why nothing can be performed any more
  bool is_report_wanted_ = false;
  std::vector<std::string> report_;

  static constexpr std::chrono::milliseconds kBeat{1000};  // between signs of life

  // Of the communication thread alone.
  std::optional<Coordinator> coordinator_;  // of rank 0
  std::deque<Response> responses_;
  Entries performing_;  // no longer among the entries; null of what others submitted
  std::unordered_map<std::string, std::uint64_t> known_ids_;  // by what this rank says
  std::unordered_map<std::uint64_t, Agreement> known_;
  std::unordered_map<std::string, std::uint64_t> schedule_numbers_;  // by what this rank says of all of it
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> schedules_;  // ids, in order
  Clock::time_point told_at_{};
  std::string told_activity_;
  bool is_leave_told_ = false, has_goodbye_ = false;

  std::thread thread_;
};

}  // namespace kiln::dist
