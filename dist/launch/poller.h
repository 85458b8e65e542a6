// Owns waiting for many descriptors at once, in one thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <utility>

namespace kiln::dist {

/// Calls back when descriptors can be read or written.
class Poller {
 public:
  using Ready = std::function<void()>;

  /// `readable` is called when there is something to read, or the other side is gone.
  void add(int fd, Ready readable) { watched_[fd] = {std::move(readable), {}}; }
  /// `writable` is called when something can be written; an empty one stops that.
  void on_writable(int fd, Ready writable) { watched_.at(fd).writable = std::move(writable); }
  void remove(int fd) { watched_.erase(fd); }
  bool watches(int fd) const { return watched_.contains(fd); }

  /// Waits until something is ready or the limit is over, and calls back for all that is ready. A callback
  /// may add and remove descriptors, its own as well.
  void run_once(std::chrono::milliseconds limit);

 private:
  struct Watched {
    Ready readable, writable;
  };
  std::map<int, Watched> watched_;
};

}  // namespace kiln::dist
