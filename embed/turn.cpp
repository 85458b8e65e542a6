#include "embed/turn.h"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "tensor/interrupt.h"

namespace kiln::embed {
namespace {

// All of it outlives every static variable of a program that still frees values at its end.
struct Order {
  std::recursive_mutex turn;
  int depth = 0;                   // of turns within each other; of the thread whose turn it is
  kiln_session* active = nullptr;  // whose program runs, or ran last
  std::thread::id thread;          // that it was made active for
  std::mutex freed_mutex;
  std::vector<kiln_value*> freed;  // in the turn of another thread
};
Order& order() {
  static auto* const only = new Order;
  return *only;
}

std::atomic<bool> program_runs{false};

void end_freed_values() {
  std::vector<kiln_value*> freed;
  {
    const std::lock_guard lock(order().freed_mutex);
    freed.swap(order().freed);
  }
  for (const kiln_value* const each : freed) delete each;
}

void make_active(kiln_session* session) {
  const std::thread::id thread = std::this_thread::get_id();
  const bool is_active = session == order().active && thread == order().thread;
  if (session != nullptr && !is_active) session->interpreter.activate();
  order().active = session;
  order().thread = thread;
}

bool watches_here(const kiln_session& session) {
  return session.watched_signal != 0 && session.watching_thread == std::this_thread::get_id();
}

}  // namespace

Turn::Turn(kiln_session* session) : session_(session) {
  order().turn.lock();
  before_ = order().active;
  ++order().depth;
  if (session == nullptr) return;
  make_active(session);
  if (order().depth > 1) return;
  interrupt_requested.store(false);  // one that came when the last program had ended
  program_runs.store(true);
  if (watches_here(*session)) watch_.emplace(session->watched_signal);
}

Turn::~Turn() {
  const bool is_outermost = --order().depth == 0;
  if (session_ != nullptr && session_->writes_to_process) session_->interpreter.flush();
  if (is_outermost) {
    program_runs.store(false);
    watch_.reset();
    end_freed_values();
  } else if (before_ != order().active) {
    make_active(before_);
  }
  order().turn.unlock();
}

void free_value(kiln_value* value) {
  if (value == nullptr) return;
  if (order().turn.try_lock()) {
    delete value;
    order().turn.unlock();
    return;
  }
  const std::lock_guard lock(order().freed_mutex);
  order().freed.push_back(value);
}

void free_session(kiln_session* session) {
  if (session == nullptr) return;
  const std::lock_guard lock(order().turn);
  end_freed_values();
  kiln_session* const active = order().active;
  delete session;
  order().active = nullptr;
  if (active != session) make_active(active);
}

void begin_session(kiln_session* session) { make_active(session); }

}  // namespace kiln::embed

void kiln_interrupt(void) {
  if (kiln::embed::program_runs.load()) kiln::interrupt_requested.store(true);
}
