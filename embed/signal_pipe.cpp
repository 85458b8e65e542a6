// Signals that come as bytes through a pipe.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

#include "embed/guarded.h"

namespace {

void interrupt_at(int pipe, unsigned char signal_number) {
  std::array<unsigned char, 64> bytes;
  while (true) {
    const ssize_t count = read(pipe, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    if (std::find(bytes.begin(), bytes.begin() + count, signal_number) != bytes.begin() + count)
      kiln_interrupt();
  }
  close(pipe);
}

}  // namespace

kiln_error* kiln_watch_pipe(int pipe, int signal_number) {
  return kiln::embed::guarded(nullptr, [&] {
    // Signals are for the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread(interrupt_at, pipe, static_cast<unsigned char>(signal_number)).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  });
}
