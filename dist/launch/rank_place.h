// Owns where a rank stands in its job, and the environment by which a launcher tells it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kiln::dist {

/// Ranks are numbered through the job, locally on their host, and across hosts among those of one local rank.
struct RankPlace {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;
  int cross_rank = 0, cross_size = 1;
};

/// A place as text, such as a launcher sends.
std::string place_text(const RankPlace& place);
RankPlace parse_place(const std::string& text);  // throws std::runtime_error

/// The places of ranks, of each of which the number of its host is given.
std::vector<RankPlace> places_on(const std::vector<std::size_t>& hosts);

/// A host and how many ranks it takes.
struct HostSlots {
  std::string name;
  int slots = 0;
};

/// Reads "a:2,b:4"; a host without a number takes one rank. Throws std::invalid_argument, which says what is
/// wrong.
std::vector<HostSlots> parse_hosts(const std::string& text);

/// What a launcher of Kiln's gives each rank by its environment.
struct LaunchedRank {
  RankPlace place;
  int number = 0;          // stays when ranks change with an epoch; in the first one the rank
  std::string rendezvous;  // "10.0.0.1:4000,192.168.0.1:4000": the launcher's addresses
  std::string secret;
  int epoch = 0;
  bool is_prompt = false;   // rank 0 reads entries that all evaluate
  bool is_elastic = false;  // ranks come and go
};
std::vector<std::string> environment_of(const LaunchedRank& rank);  // "KILN_RANK=0", …
std::optional<LaunchedRank> launched_rank();                        // of this process

/// The place that `mpirun` or `srun` gave this process.
std::optional<RankPlace> place_of_mpi();

}  // namespace kiln::dist
