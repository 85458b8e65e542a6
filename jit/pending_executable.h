// Owns an executable that is made behind whoever asked for it: its kernels are found and compiled while the
// interpreter goes on.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <mutex>

#include "jit/executable.h"

namespace kiln::jit {

class PendingExecutable {
 public:
  using Make = std::function<std::shared_ptr<const Executable>()>;
  // Calls `make` on a thread of its own, or later where there can be none. What `make` holds is let go of by
  // threads that ask, or by the last owner, who waits for it.
  explicit PendingExecutable(Make make);
  explicit PendingExecutable(std::shared_ptr<const Executable> made)
      : made_(std::move(made)), ready_(made_.get()) {}

  // Would `get` not have to wait?
  bool is_ready() const;
  // Waits until it is made. Throws what `make` threw, each time, and OpError (Interrupted), after which the
  // next to ask makes it.
  const Executable& get() const {
    const Executable* const made = ready_.load(std::memory_order_acquire);
    return made != nullptr ? *made : wait();
  }

 private:
  using Made = std::shared_ptr<const Executable>;
  const Executable& wait() const;
  Made ask() const;

  mutable std::mutex mutex_;
  mutable Make make_;  // null once it is made
  mutable Made made_;
  mutable std::atomic<const Executable*> ready_{nullptr};
  mutable std::future<Made> coming_;  // the first to go: its end waits for the thread
};

// Whether anything may be made behind the caller: not in a process that is to be copied, of whose threads the
// copy would have one alone.
void set_compiling_behind(bool on);

// Made at once, unless it may be made behind the caller: where nothing asks the interpreter.
std::unique_ptr<const PendingExecutable> pending(bool behind, PendingExecutable::Make make);

}  // namespace kiln::jit
