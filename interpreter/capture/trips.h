// Owns whether a loop that is compiled by trips gets an entry for several of them.
#pragma once

#include "interpreter/capture/entry.h"

namespace kiln::interp::capture {

struct TripLimits {
  std::int64_t after = 1000;  // trips that ran compiled: a longer graph is worth compiling then
  // In one entry; and in another for what is left then, after as many again.
  int most = 16;
  int fewest = 4;
};
// Of the process: tests ask for fewer.
TripLimits& trip_limits();

// How many trips one would hold beside `entry`, which fits where the frame stands now; 1: there is to be
// none, or not yet.
int worth_trips(const Entry& entry, const Frame& frame);
// Will there be one, when this one has run often enough?
bool may_hold_trips(const Entry& entry, const Frame& frame);

}  // namespace kiln::interp::capture
