// Owns which handles of one kind were given and not yet taken back.
#pragma once

#include <mutex>
#include <set>

namespace kiln::fake {

template <class T>
class LiveHandles {
 public:
  T* add(T* made) {
    const std::lock_guard lock(mutex_);
    all_.insert(made);
    return made;
  }
  bool has(T* handle) {
    const std::lock_guard lock(mutex_);
    return all_.contains(handle);
  }
  template <class F>
  void each(const F& f) {
    const std::lock_guard lock(mutex_);
    for (const T* each : all_) f(*each);
  }
  // Frees it. False for a handle that leads to nothing.
  bool remove(T* handle) {
    const std::lock_guard lock(mutex_);
    if (all_.erase(handle) == 0) return false;
    delete handle;
    return true;
  }

 private:
  std::mutex mutex_;
  std::set<T*> all_;
};

template <class T>
LiveHandles<T>& live() {
  static auto* const made = new LiveHandles<T>;  // never destroyed: handles may be released late
  return *made;
}

}  // namespace kiln::fake
