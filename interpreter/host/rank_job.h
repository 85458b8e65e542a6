// Owns this process's part in a job of ranks, from `dist.init` to `dist.shutdown` or the end of the program.
#pragma once

#include <string>
#include <vector>

#include "dist/controller/controller.h"
#include "dist/launch/rank_place.h"

namespace kiln::interp {

/// Joins the job that the launcher made, or one of this process alone; harmless where that was done. Throws
/// OpError (RanksLost, Value).
void join_ranks();
/// Leaves the job. `together`: waits until all ranks do, and serves them until then; else at once. Harmless
/// without a job.
void leave_ranks(bool together);

/// Null before `join_ranks`.
kiln::dist::Controller* rank_controller();
/// Throws OpError (Value) before that, which says what to call first.
kiln::dist::Controller& joined_controller();
/// Of this process: as the launcher says, joined or not.
kiln::dist::RankPlace rank_place();

}  // namespace kiln::interp
