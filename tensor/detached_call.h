// Owns calls that run on a thread of their own and cannot be stopped: of libraries, of the compiler. Ctrl-C
// leaves them behind.
#pragma once

#include <functional>
#include <memory>
#include <thread>

namespace kiln {

// A call that nothing waits for any more goes on at a low priority. So `call` owns all memory that it
// touches; it is destroyed when it has ended. The thread costs some 20 µs.
class DetachedCall {
 public:
  // Throws std::system_error where no thread can be started.
  explicit DetachedCall(std::function<void()> call);
  // Waits for the end, but not after Ctrl-C, nor while an exception unwinds: then the call is left behind.
  ~DetachedCall();
  DetachedCall(const DetachedCall&) = delete;
  DetachedCall& operator=(const DetachedCall&) = delete;

  bool has_ended() const;
  // Waits for the end. Throws OpError (Interrupted) when that was requested and is due; then it may be waited
  // for again.
  void wait() const;
  // Throws what the call threw, each time. It must have ended.
  void rethrow() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

// While one lives, no call that this thread owns is waited for when it is destroyed: for what is released
// after Ctrl-C was answered.
class LeavesDetachedCalls {
 public:
  LeavesDetachedCalls();
  ~LeavesDetachedCalls();
  LeavesDetachedCalls(const LeavesDetachedCalls&) = delete;
  LeavesDetachedCalls& operator=(const LeavesDetachedCalls&) = delete;
};

// Runs `call` so and waits for it. Throws what it throws, and OpError (Interrupted), which leaves it behind.
void run_detached(std::function<void()> call);

// Does a call go on that was left behind? A process that ends then must not take its libraries down first.
bool detached_calls_go_on();

}  // namespace kiln
