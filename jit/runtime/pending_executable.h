// Owns an executable that is compiled in the background: its kernels are chosen and compiled while the
// interpreter goes on.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "jit/runtime/executable.h"
#include "tensor/detached_call.h"

namespace kiln::jit {

class PendingExecutable {
 public:
  using Make = std::function<std::shared_ptr<const Executable>()>;
  // Calls `make` on a thread of its own, or later where no thread can be started. A thread that asks, or the
  // last owner, who waits for `make`, releases what it holds. After Ctrl-C the last owner does not wait:
  // `make` owns all that it reads.
  explicit PendingExecutable(Make make);
  explicit PendingExecutable(std::shared_ptr<const Executable> made)
      : made_(std::move(made)), ready_(made_.get()) {}

  ~PendingExecutable();
  PendingExecutable(const PendingExecutable&) = delete;
  PendingExecutable& operator=(const PendingExecutable&) = delete;

  // Would `get` not have to wait?
  bool is_ready() const;
  // Waits until it is made. Throws what `make` threw, each time, and OpError (Interrupted), after which the
  // next to ask makes it.
  const Executable& get() const {
    const Executable* const made = ready_.load(std::memory_order_acquire);
    return made != nullptr ? *made : wait();
  }

 private:
  using SharedExecutable = std::shared_ptr<const Executable>;
  const Executable& wait() const;
  SharedExecutable ask() const;

  mutable std::mutex mutex_;
  mutable Make make_;  // null once it is made
  mutable SharedExecutable made_;
  mutable std::atomic<const Executable*> ready_{nullptr};
  std::shared_ptr<SharedExecutable> coming_;  // what `call_` makes
  std::unique_ptr<DetachedCall> call_;        // null where it is made when it is asked for
};

// Whether anything may be compiled in the background. It may not in a process that will fork, since the copy
// would have only the forking thread.
void set_compiling_behind(bool on);

// Calls `make` in the background if `behind` says that it needs nothing of the interpreter, else at once.
std::unique_ptr<const PendingExecutable> pending(bool behind, PendingExecutable::Make make);

}  // namespace kiln::jit
