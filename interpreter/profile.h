// Owns what a recording of the timeline comes to: time by phase, by op and by line.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/timeline.h"

namespace kiln::interp {

inline constexpr std::size_t kTimelineKinds = static_cast<std::size_t>(kiln::timeline::Kind::Share) + 1;

// All times are seconds of the thread that runs the program. A span's time is without that of the spans
// inside of it, so that the times of all rows are at most the total.
struct Profile {
  struct Op {
    std::string name;  // of an op, or of the ops that a compiled kernel does together: "exp add"
    bool is_compiled = false;
    std::int64_t calls = 0;
    double seconds = 0;
  };
  struct Line {
    std::string file;
    int number = 0;
    std::int64_t calls = 0;  // of ops
    double ops = 0;          // the ops that the line runs
    double interpreter = 0;  // the machine's own time on the line, as ticks tell it (vm/line_clock.h)
    double seconds = 0;      // both
  };
  double total = 0;
  std::array<double, kTimelineKinds> phases{};  // by Kind; that of Run is the interpreter's own time
  double compiled_behind = 0;                   // on other threads, while the program went on
  std::vector<Op> ops;                          // the longest first
  std::vector<Line> lines;                      // the longest first
  std::vector<kiln::timeline::Event> events;

  double phase(kiln::timeline::Kind kind) const { return phases[static_cast<std::size_t>(kind)]; }
  double all_ops() const { return phase(kiln::timeline::Kind::Op) + phase(kiln::timeline::Kind::Kernel); }
};

// `total` in seconds. What the machine did behind the last tick goes to the line of that tick.
Profile profile_of(std::vector<kiln::timeline::Event> events, double total);

}  // namespace kiln::interp
