// Owns the life of a job as its launcher sees it: ranks are started, their output is shown, and all end
// together.
#pragma once

#include <string>
#include <vector>

#include "dist/launch/rank_place.h"

namespace kiln::dist {

struct JobOptions {
  std::vector<std::string> command;  // what each rank runs
  int size = 0;
  std::vector<HostSlots> hosts;  // empty: this one
  std::vector<std::string>
      agent;               // what starts a command on a host: words, in which "{host}" stands for its name
  bool is_prompt = false;  // rank 0 has the terminal to itself
  bool color = false;
};

/// Runs a job to its end. Gives the exit code: 0 where all ranks ended well, that of the rank whose error
/// ended the job, 128 plus the signal that ended a rank or the launcher. Throws std::runtime_error where it
/// cannot begin, and std::invalid_argument for hosts with too few slots.
int run_job(const JobOptions& options);

}  // namespace kiln::dist
