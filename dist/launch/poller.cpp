#include "dist/launch/poller.h"

#include <poll.h>

#include <vector>

namespace kiln::dist {

void Poller::run_once(std::chrono::milliseconds limit) {
  std::vector<pollfd> fds;
  for (const auto& [fd, watched] : watched_)
    fds.push_back({fd, static_cast<short>(POLLIN | (watched.writable ? POLLOUT : 0)), 0});
  if (poll(fds.data(), fds.size(), static_cast<int>(limit.count())) <= 0) return;
  for (const pollfd& ready : fds) {
    if (const auto at = watched_.find(ready.fd); (ready.revents & POLLOUT) != 0 && at != watched_.end()) {
      const Ready call = at->second.writable;
      if (call) call();
    }
    if (const auto at = watched_.find(ready.fd);
        (ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0 && at != watched_.end()) {
      const Ready call = at->second.readable;
      call();
    }
  }
}

}  // namespace kiln::dist
