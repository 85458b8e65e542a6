// Owns the record of what a rank does with others and beside them, for a timeline of all ranks. A recording
// of the process's own timeline (tensor/timeline.h) is told, too.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::dist {

/// From one microsecond since 1970 to another, so that ranks of different processes can be laid side by side.
struct CommunicationSpan {
  std::string name;  // of the collective; of the program "backward", or what it waits for
  std::string
      phase;  // "negotiate", "copy in", the collective, as "allreduce", "copy out", "backward", "wait"
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

/// A part of what the communication thread performs: until the next begins, or all of it ends.
struct PerformedPhase {
  std::string_view name;
  std::int64_t begin = 0;
};
/// Of the thread that calls it. `name` must live as long as the process.
void begin_phase(std::string_view name);
/// Those that began since the last call; none of what has no parts.
std::vector<PerformedPhase> take_phases();

}  // namespace kiln::dist
