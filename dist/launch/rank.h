// Owns what this process is in a job, and how it gets its transport.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "dist/launch/rank_link.h"
#include "dist/launch/rank_place.h"
#include "dist/transport/transport.h"

namespace kiln::dist {

/// Connects this process to its launcher where it has one, for as long as the object lives. One is made at
/// the beginning of the program.
class RankProcessLink {
 public:
  /// `program` is a hash of what the rank runs; ranks with different ones are an error. Throws
  /// std::runtime_error.
  explicit RankProcessLink(const std::string& program);
  ~RankProcessLink();
  RankProcessLink(const RankProcessLink&) = delete;
  RankProcessLink& operator=(const RankProcessLink&) = delete;

 private:
  std::unique_ptr<RankLink> link_;
};

/// A hash of bytes that is the same on all hosts, such as of a program's text.
std::string hash_of(const std::string& bytes);

/// The link to the launcher; null without one.
RankLink* launcher_link();

/// How many threads a rank's kernels should use: its share of this host's processors, at most `most`.
int thread_share(const RankPlace& place, int most);

/// This process in the job that started it: by `kiln run`, by `mpirun`, or alone, as rank 0 of 1.
struct Membership {
  RankPlace place;
  int epoch = 0;
  std::unique_ptr<Transport> transport;
};

/// Has the launcher begun an epoch with other ranks than this process has joined?
bool has_newer_epoch();

/// Connects all ranks of the job, which all call it, and waits for them up to `limit`; in an elastic job
/// those of the newest epoch, again and again while ranks die meanwhile. KILN_TRANSPORT names another
/// transport than the default: "shm" on one host, "gloo" on several, "mpi" under `mpirun`. The launcher's
/// news of lost ranks go to the transport. Throws PeerLost, and std::runtime_error for a transport that is
/// not there.
Membership join_job(std::chrono::milliseconds limit = std::chrono::seconds(60));

/// Is the transport there: built, and its libraries on this machine?
bool has_transport(const std::string& name);

}  // namespace kiln::dist
