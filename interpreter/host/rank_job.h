// Owns this process's part in a job of ranks, from `dist.init` to `dist.shutdown` or the end of the program.
#pragma once

#include <string>
#include <vector>

#include "dist/controller/controller.h"

namespace kiln::interp {

/// Where this process stands among all ranks, among those of its host, and among those of one local rank
/// across hosts.
struct RankPlace {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;
  int cross_rank = 0, cross_size = 1;
};

/// Joins the job that the launcher made, or one of this process alone; harmless where that was done. Throws
/// OpError (RanksLost, Value).
void join_ranks();
/// Leaves the job. `together`: waits until all ranks do, and serves them until then; else at once. Harmless
/// without a job.
void leave_ranks(bool together);

/// Null before `join_ranks`.
kiln::dist::Controller* rank_controller();
/// Likewise; throws OpError (Value), which says what to call first.
kiln::dist::Controller& joined_controller();
/// Of this process: as the launcher says, joined or not.
RankPlace rank_place();

}  // namespace kiln::interp
