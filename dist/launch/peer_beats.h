// Owns signs of life between ranks on different hosts: a launcher may hear ranks that no longer reach each
// other.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "dist/launch/socket.h"

namespace kiln::dist {

class PeerBeats {
 public:
  /// Of ranks, by number, from which nothing was heard for `longest_silence()`. Called on a thread of the
  /// object's: with each sign of life while there are some, and once when there are none again.
  using Report = std::function<void(const std::vector<int>& unheard)>;

  /// `socket` is of `bind_datagrams`, `peers` has the address "host:port" of each other rank. Datagrams
  /// without `token` are passed over. A peer that was never heard is not reported: the network between may
  /// carry no datagrams. Throws std::runtime_error.
  PeerBeats(Descriptor socket, const std::map<int, std::string>& peers, int rank, const std::string& token,
            Report report);
  ~PeerBeats();
  PeerBeats(const PeerBeats&) = delete;
  PeerBeats& operator=(const PeerBeats&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    SocketAddress address;
    std::optional<Clock::time_point> heard;
  };
  void run();
  void receive(Clock::time_point now);
  void take(std::string_view text, Clock::time_point now);
  void beat(Clock::time_point now);

  Descriptor socket_;
  Descriptor wake_;  // ends the thread's wait
  std::map<int, Peer> peers_;
  std::string token_, own_;  // what begins every datagram, and this rank's whole one
  Report report_;
  bool has_reported_ = false;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace kiln::dist
