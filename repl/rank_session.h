// Owns what a session is as one rank of a job: the launcher hears what ends it, and ranks of a prompt
// evaluate what rank 0 reads.
#pragma once

#include <functional>
#include <string>

#include "dist/launch/rank.h"
#include "repl/options.h"
#include "repl/session.h"

namespace kiln::repl {

/// Connects to the launcher, where there is one. Throws UsageError. Kernels of ranks of one host share its
/// processors, unless the command line or OMP_NUM_THREADS says how many threads there are.
class RankConnection {
 public:
  explicit RankConnection(const CommandLine& line);

 private:
  dist::RankProcessLink link_;
};

/// The device that `--device` names. Of "cuda" each rank of a host has a card of its own, where there are as
/// many.
std::string device_of_rank(const std::string& name);

/// Standard error of a rank: the error that ends it is marked, for the launcher shows it once.
class RankErrors {
 public:
  explicit RankErrors(Session::Sink plain) : plain_(std::move(plain)) {}

  /// Text of the session. What is said while an exception is handled waits until it is known whether that
  /// ends the rank.
  void write(std::string_view text);
  /// Gives on what waits: as the error that ended the rank, or as plain text.
  void finish(bool is_end);

 private:
  Session::Sink plain_;
  std::string kind_, pending_;
};

/// Is this a rank that evaluates what rank 0 reads at its prompt?
bool follows_entries();
/// Evaluates entries of rank 0 until it ends; gives its exit code. Shows what the program prints, and errors
/// that rank 0 does not have.
int follow_entries(Session& session);

/// Has all ranks evaluate an entry that this one has read: `eval` does it here. Returns when all are done.
/// Where this process leads no other it is `eval` alone.
Result eval_on_ranks(Session& session, const std::string& entry, const std::function<Result()>& eval);
/// Ends the followers.
void end_entries(int exit_code);

}  // namespace kiln::repl
