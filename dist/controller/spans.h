// Owns the record of what a rank's communication thread does, for a timeline of all ranks.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace kiln::dist {

/// From one microsecond since 1970 to another, so that ranks of different processes can be laid side by side.
struct CommunicationSpan {
  std::string name;   // of the collective
  std::string phase;  // "negotiate", or the collective, as "allreduce"
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Used from any thread.
class Spans {
 public:
  void start();
  /// The spans since `start`, and ends the recording.
  std::vector<CommunicationSpan> stop();
  bool are_recorded() const;
  void add(CommunicationSpan span);

 private:
  mutable std::mutex mutex_;
  bool is_recording_ = false;
  std::vector<CommunicationSpan> spans_;
};

std::int64_t microseconds_now();

}  // namespace kiln::dist
