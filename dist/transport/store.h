// Owns how ranks that are not connected yet tell each other where they are.
#pragma once

#include <chrono>
#include <string>

#include "dist/transport/transport.h"

namespace kiln::dist {

/// Thrown where no rank has set a key in time.
class NotSet : public PeerLost {
 public:
  NotSet(const std::string& key, std::chrono::milliseconds limit)
      : PeerLost({}, "no rank has set `" + key + "` within " + std::to_string(limit.count() / 1000) + " s") {}
};

/// Keys and values that all ranks of a job see, kept by the launcher. Safe to use from several threads.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  virtual void set(const std::string& key, const std::string& value) = 0;
  /// Waits until some rank has set the key. Throws NotSet where none does within the limit, and PeerLost.
  virtual std::string get(const std::string& key, std::chrono::milliseconds limit) = 0;
};

/// Returns when all ranks have called it with this scope, which is the beginning of the keys that it uses.
/// Throws PeerLost where some rank does not come within the limit.
inline void meet(Store& store, const std::string& scope, int rank, int size,
                 std::chrono::milliseconds limit) {
  store.set(scope + "/here/" + std::to_string(rank), "");
  for (int other = 0; other < size; ++other) store.get(scope + "/here/" + std::to_string(other), limit);
}

}  // namespace kiln::dist
