#include "jit/runtime/pending_executable.h"

#include <system_error>

#include "tensor/device.h"
#include "tensor/error.h"
#include "tensor/timeline.h"

namespace kiln::jit {

PendingExecutable::PendingExecutable(Make make) : make_(std::move(make)) {
  coming_ = std::make_shared<SharedExecutable>();
  try {
    call_ = std::make_unique<DetachedCall>([make = make_, device = default_device(), coming = coming_] {
      set_default_device(device);
      const timeline::Span span(timeline::Kind::Compile, "behind the program");
      *coming = make();
    });
  } catch (const std::system_error&) {  // there are no more threads
  }
}

namespace {
constexpr std::string_view kWait = "for compilation behind the program";
}  // namespace

PendingExecutable::~PendingExecutable() {
  if (call_ == nullptr || call_->has_ended()) return;
  const timeline::Span span(timeline::Kind::Wait, kWait);
  call_.reset();
}

bool PendingExecutable::is_ready() const {
  if (ready_.load(std::memory_order_acquire) != nullptr) return true;
  const std::lock_guard lock(mutex_);
  return made_ != nullptr || call_ == nullptr || call_->has_ended();
}

const Executable& PendingExecutable::wait() const {
  const std::lock_guard lock(mutex_);
  if (!made_) {
    made_ = ask();
    make_ = nullptr;
    ready_.store(made_.get(), std::memory_order_release);
  }
  return *made_;
}

PendingExecutable::SharedExecutable PendingExecutable::ask() const {
  if (call_ == nullptr) return make_();
  const timeline::Span span(timeline::Kind::Wait, kWait);
  call_->wait();
  try {
    call_->rethrow();
    return *coming_;
  } catch (const OpError& error) {
    if (error.kind() != ErrorKind::Interrupted) throw;
    return make_();  // what was interrupted then was something else
  }
}

namespace {
std::atomic<bool> may_be_behind{true};
}  // namespace

void set_compiling_behind(bool on) { may_be_behind = on; }

std::unique_ptr<const PendingExecutable> pending(bool behind, PendingExecutable::Make make) {
  if (behind && may_be_behind) return std::make_unique<const PendingExecutable>(std::move(make));
  return std::make_unique<const PendingExecutable>(make());
}

}  // namespace kiln::jit
