// Owns the launcher's side of the talk with its ranks: the store in which they find each other, and their
// signs of life.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dist/launch/message.h"
#include "dist/launch/poller.h"
#include "dist/launch/socket.h"

namespace kiln::dist {

/// After how long without a sign of life a side is taken for lost: KILN_SILENCE_SECONDS, or 10 s.
std::chrono::milliseconds longest_silence();
/// How often both sides give a sign of life.
std::chrono::milliseconds beat_interval();
/// "gave no sign of life for 10 s"
std::string silence_text();

/// What a rank says of itself when it comes.
struct Hello {
  int rank = 0;
  int epoch = 0;
  std::string program;  // a hash of what it runs; empty: it reads it from a prompt
};
std::string hello_text(const Hello& hello);
Hello parse_hello(const std::string& text);  // throws std::runtime_error

class Rendezvous {
 public:
  /// What the launcher does when ranks come and go. All are called within `Poller::run_once` or `tick`.
  struct Callbacks {
    std::function<void(const Hello&)> joined;
    std::function<void(int rank)> disconnected;                      // without a goodbye
    std::function<void(int rank)> silent;                            // no sign of life for `longest_silence`
    std::function<void(int rank, std::vector<int> others)> unheard;  // by the rank, any more
    std::function<void(int rank)> ready;                             // to meet the others in an epoch to come
  };

  /// Listens at `host`. Who does not know `secret` is not heard. Throws std::runtime_error.
  Rendezvous(Poller& poller, const std::string& host, std::string secret, Callbacks callbacks);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  int port() const { return port_of(listener_); }
  /// To one rank, where it is connected.
  void tell(int rank, const Message& message);
  void tell_all(const Message& message);
  /// For how long nothing was heard of a rank; nothing where it is not connected.
  std::optional<std::chrono::milliseconds> silence_of(int rank) const;
  /// Closes the connection of a rank that is no longer part of the job.
  void drop(int rank);
  /// Sends signs of life, and looks for ranks that gave none. To be called about once a second.
  void tick();

 private:
  struct Connection;
  void accept();
  void read(Connection& connection);
  void close(Connection& connection);
  void handle(Connection& connection, const Message& message);
  void send(Connection& connection, const Message& message);
  void flush(Connection& connection);
  Connection* of_rank(int rank) const;

  Poller& poller_;
  std::string secret_;
  Callbacks callbacks_;
  Descriptor listener_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::map<std::string, std::string> values_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point ticked_ = began_;
};

}  // namespace kiln::dist
