// Owns the life of a job as its launcher sees it: ranks are started, their output is shown, and all end
// together.
#pragma once

#include <string>
#include <vector>

#include "dist/launch/rank_place.h"

namespace kiln::dist {

struct JobOptions {
  std::vector<std::string> command;  // what each rank runs
  int size = 0;                      // ranks; of an elastic job the most
  int least = 0;                     // of an elastic job the fewest ranks; 0: the job is not elastic
  std::vector<HostSlots> hosts;      // empty: this one
  std::string discover;  // a line of shell that writes the hosts of an elastic job, asked again and again
  std::vector<std::string>
      agent;               // what starts a command on a host: words, in which "{host}" stands for its name
  bool is_prompt = false;  // rank 0 has the terminal to itself
  bool color = false;
};

/// Runs a job to its end. Gives the exit code: 0 where all ranks ended well, that of the rank whose error
/// ended the job, 128 plus the signal that ended a rank or the launcher. Throws std::runtime_error where it
/// cannot begin, and std::invalid_argument for hosts with too few slots.
///
/// An elastic job goes on without ranks that were killed, are gone or give no sign of life, as long as
/// `least` are left, and with new ones on hosts that the script names. Ranks are told of a new epoch, in
/// which they meet anew; who is not told, as behind a broken network, is not part of it. An error of a
/// program ends an elastic job, too.
int run_job(const JobOptions& options);

}  // namespace kiln::dist
