// Owns a job whose ranks are threads of one process: what rows of collectives and graphs with them are tested
// on, without transports.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tensor/collective.h"

namespace kiln::testing {

// While it lives, collectives go to it. Ranks agree by name, or by place and count; the results are sums in
// the order of ranks. A rank that waits for longer than some seconds throws InternalError.
class ThreadRanks final : public Collectives {
 public:
  explicit ThreadRanks(int size);
  ~ThreadRanks() override;

  // Runs the body as each rank, on a thread of its own; throws what the first of them threw.
  void run(const std::function<void(int rank)>& body);

  std::uint64_t start(std::vector<Collective> collectives) override;
  bool is_done(std::uint64_t ticket) override;
  Tensors wait(std::uint64_t ticket) override;
  int rank(int process_set) override;
  int size(int process_set) override;

  // What a rank submitted, in order: names, those of one start in one line, with spaces between.
  std::vector<std::string> submitted(int rank);

 private:
  struct Meeting {
    std::vector<Collective> of_rank;
    std::vector<Tensors> results;
    int arrived = 0;
  };
  void finish(Meeting& meeting) const;
  bool is_done_locked(std::uint64_t ticket) const;

  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Meeting> meetings_;  // by name, with how often it was used
  std::vector<std::map<std::string, int>> counts_;
  std::vector<std::vector<std::string>> submitted_;
  std::map<std::uint64_t, std::vector<std::string>> tickets_;
  std::uint64_t last_ = 0;
};

}  // namespace kiln::testing
