// Owns the signals that a launcher hears, as something to read.
#pragma once

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "dist/launch/socket.h"

namespace kiln::dist {

/// While one lives, signals that end a job, and the ends of its processes, arrive at a descriptor.
class JobSignals {
 public:
  JobSignals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCHLD}) sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, &before_);
    descriptor_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~JobSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  JobSignals(const JobSignals&) = delete;
  JobSignals& operator=(const JobSignals&) = delete;

  int descriptor() const { return descriptor_.get(); }
  std::optional<signalfd_siginfo> next() {
    signalfd_siginfo info{};
    if (read(descriptor_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
    return info;
  }

 private:
  sigset_t before_;
  Descriptor descriptor_;
};

}  // namespace kiln::dist
