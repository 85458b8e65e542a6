// Owns a recording of the timeline as a trace: the JSON that Perfetto and chrome://tracing open.
#pragma once

#include <string>
#include <vector>

#include "tensor/timeline.h"

namespace kiln::interp {

// Whose events they are, where a trace is of several processes.
struct TracedProcess {
  int number = 0;
  std::string name = "kiln";
  std::int64_t begin = 0;  // nanoseconds from the beginning of the trace to that of the recording
};

// The events of one process, separated by commas: one of phase X for each span, in microseconds, on the track
// of its thread, with its line, and of ops and kernels with bytes and flops; pairs of b and e for what goes
// on beside the threads; and a counter of the bytes of live tensors.
std::string trace_events(const std::vector<kiln::timeline::Event>& events, const TracedProcess& process);

// The trace of such texts, of which each is of one process.
std::string trace_of(const std::vector<std::string>& processes);

// The trace of this process alone.
std::string trace_text(const std::vector<kiln::timeline::Event>& events);

}  // namespace kiln::interp
