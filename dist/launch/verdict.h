// Owns what is said of a job that did not end well: which rank began it, and why.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "dist/launch/error_mark.h"

namespace kiln::dist {

/// What became of a rank, as far as is known.
struct RankEnd {
  int rank = 0;
  std::optional<int> exit_code;    // it left with one
  std::optional<int> signal;       // it was killed by one
  std::optional<RankError> error;  // the error that ended it
  std::string fault;               // else what is wrong with it: "gave no sign of life for 10 s"
  bool was_stopped = false;        // by the launcher, which says nothing of its end

  bool has_failed() const {
    return !was_stopped && (signal || error || !fault.empty() || exit_code.value_or(0) != 0);
  }
};

/// "rank 2 was killed by signal 9 (Killed)"
std::string sentence_of(const RankEnd& end);

struct Verdict {
  int exit_code = 0;
  std::string text;  // for standard error
};

/// The rank that failed for a reason of its own counts: one that was killed, is gone or has an error, before
/// those whose error is that others were lost. An error that several ranks have is shown once.
Verdict judge(std::span<const RankEnd> ends);

}  // namespace kiln::dist
