// Owns a rank's talk with its launcher: the store, signs of life, and news of ranks that died.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "dist/launch/message.h"
#include "dist/launch/rank_place.h"
#include "dist/launch/rendezvous.h"
#include "dist/launch/socket.h"
#include "dist/transport/store.h"

namespace kiln::dist {

class RankLink final : public Store {
 public:
  using LostHandler = std::function<void(std::vector<int> ranks, const std::string& why)>;

  /// Connects to the launcher, which has `addresses` as `connect_to_any` takes them. Throws
  /// std::runtime_error.
  RankLink(const std::string& addresses, const std::string& secret, const Hello& hello);
  /// Says goodbye: the launcher takes the rank's end for a good one.
  ~RankLink() override;

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key, std::chrono::milliseconds limit) override;

  /// What to add to nanoseconds of this process's steady clock to get those since the launcher began to
  /// listen, by which the times of all ranks can be compared. Asks the launcher. Throws NotSet where it does
  /// not answer.
  std::int64_t to_job_clock();

  /// What the launcher said last of the membership.
  struct Epoch {
    int number = -1;  // none yet
    RankPlace place;
  };
  Epoch newest_epoch();
  /// Waits for one after `number`. Throws PeerLost where none begins within the limit.
  Epoch wait_for_epoch(int number, std::chrono::milliseconds limit);
  /// Are ranks of the epoch that was begun last lost?
  bool has_lost();
  /// From here on losses of earlier epochs are none any more.
  void begin_epoch(int number);

  /// Called on a thread of the link's when ranks of this epoch died, or nothing is heard from the launcher:
  /// then with an empty list, and the process ends soon. What came before is told at once.
  void on_lost(LostHandler handler);
  /// The rank, which belongs to no epoch yet, can meet the others.
  void tell_ready();
  /// Of ranks, by the numbers of their processes, that this one no longer hears; none: it hears all again.
  /// From any thread.
  void tell_unheard(const std::vector<int>& numbers);
  /// The address of this host as the launcher sees it.
  std::string host_address() const { return own_address(socket_); }

 private:
  struct Loss {
    int epoch;
    std::vector<int> ranks;
    std::string why;
  };
  void listen();
  void take(const Message& message);
  void lose(Loss loss);
  void send(const Message& message);

  Descriptor socket_;
  Descriptor wake_;  // ends the thread's wait
  std::mutex mutex_, sending_;
  std::condition_variable arrived_;
  std::map<std::string, std::string> values_;
  LostHandler handler_;
  Epoch epoch_;  // the newest
  std::unique_ptr<Loss> loss_;
  std::atomic<int> clock_asked_{0};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace kiln::dist
