// Owns how ranks that are not connected yet tell each other where they are.
#pragma once

#include <chrono>
#include <string>

namespace kiln::dist {

/// Keys and values that all ranks of a job see, kept by the launcher. Safe to use from several threads.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  virtual void set(const std::string& key, const std::string& value) = 0;
  /// Waits until some rank has set the key. Throws PeerLost where none does within the limit.
  virtual std::string get(const std::string& key, std::chrono::milliseconds limit) = 0;
};

}  // namespace kiln::dist
