// Owns how bytes move between the ranks of a job: the interface that algorithms and the controller use,
// behind which stand threads, shared memory, Gloo and MPI.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::dist {

/// Thrown by waits when a peer died, closed its link, or gave no sign of life for too long.
class PeerLost : public std::runtime_error {
 public:
  PeerLost(std::vector<int> lost, const std::string& why);
  std::vector<int> ranks;
};

/// Thrown by waits after `Transport::interrupt`.
class Stopped : public std::runtime_error {
 public:
  Stopped();
};

/// Moves bytes between the ranks of one membership ("epoch"). One thread at a time uses a transport: the
/// communication thread. Only `wake`, `interrupt` and `lose` may be called from other threads.
class Transport {
 public:
  class Request;

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() { end_news(); }

  virtual std::string_view name() const = 0;  // "gloo" "mpi" "shm" "threads" "self"
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Begins to send to another rank. The bytes must stay as they are until the request is done. Messages
  /// between two ranks with equal tags arrive in order; messages with different tags need not.
  virtual std::unique_ptr<Request> send(int to, std::uint64_t tag, std::span<const std::byte> bytes) = 0;
  /// Begins to receive from another rank. Both sides know the length.
  virtual std::unique_ptr<Request> receive(int from, std::uint64_t tag, std::span<std::byte> bytes) = 0;

  /// Waits until one of the requests is done (true), or `wake` was called since the last call or `limit` is
  /// over (false). Null requests are skipped. Throws PeerLost and Stopped.
  bool wait_any(std::span<Request* const> requests, std::chrono::milliseconds limit);
  /// From any thread: the `wait_any` under way, or else the next one, returns at once.
  void wake();
  /// From any thread: every wait for what is not done, now and later, throws Stopped.
  void interrupt();
  /// From any thread: every wait for what is not done, now and later, throws PeerLost with these ranks. The
  /// first call counts.
  void lose(std::vector<int> ranks, const std::string& why);
  /// `stop` is called before the transport is gone: after it, `lose` is not called any more.
  void on_end(std::function<void()> stop) { end_of_news_ = std::move(stop); }

 protected:
  /// The first thing that destructors of transports do whose `notify` is their own.
  void end_news() {
    if (const auto stop = std::exchange(end_of_news_, {})) stop();
  }
  /// Throws what `interrupt` or `lose` asked for.
  void check() const;

  /// How many things have happened that a wait may be waiting for.
  virtual std::uint32_t events() const;
  /// Counts one more event, and ends the sleep of this transport's thread.
  virtual void notify();
  /// Sleeps until `events()` is no longer `seen`, or `limit` is over. `round` counts the sleeps of one wait,
  /// for transports that learn of events only by looking.
  virtual void sleep(std::uint32_t seen, std::chrono::microseconds limit, int round);

 private:
  bool wait_for(std::span<Request* const> requests, std::chrono::milliseconds limit, bool heeds_wakes);

  mutable std::mutex mutex_;
  std::condition_variable happened_;
  std::atomic<std::uint32_t> events_{0};
  std::atomic<std::uint32_t> wakes_{0};
  std::uint32_t wakes_seen_ = 0;  // of the communication thread
  std::atomic<bool> ended_{false};
  std::unique_ptr<PeerLost> lost_;  // null after `interrupt`
  std::function<void()> end_of_news_;
};

/// A transfer that has begun. Destroying one that is not done cancels it; what arrives for it later is
/// dropped, and the transport is then good for nothing but to be destroyed.
class Transport::Request {
 public:
  explicit Request(Transport& transport) : transport_(transport) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  virtual ~Request() = default;

  /// Is it done? Never waits. Throws PeerLost where the peer of this request closed its link.
  virtual bool test() = 0;
  /// Waits until it is done (true), or `limit` is over (false). Throws PeerLost and Stopped.
  bool wait(std::chrono::milliseconds limit);
  /// Waits until it is done. Throws PeerLost and Stopped.
  void wait();

 private:
  Transport& transport_;
};

/// One rank of one: there is no other to send to.
std::unique_ptr<Transport> make_self_transport();

/// n transports that are connected by memory, for tests of algorithms and controllers with one thread per
/// rank. A send is done when it was received, as with a network that buffers nothing.
std::vector<std::unique_ptr<Transport>> make_thread_transports(int n);

}  // namespace kiln::dist
