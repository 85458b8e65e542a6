// Owns how the ranks of a communicator of the fake NCCL, which are threads or processes of one machine, are
// connected: by a socket for each two of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tensor/cuda/api_types.h"

namespace kiln::fake {

struct NcclTransfer {
  bool is_sent;
  int rank;  // the other one
  std::byte* data;
  std::size_t bytes;
};

class NcclLinks {
 public:
  // Meets the other ranks by the name, on the card of this number. What is wrong, among it two ranks on one
  // card, is the `problem`.
  NcclLinks(const std::string& name, int rank, int size, int card);
  ~NcclLinks();
  NcclLinks(const NcclLinks&) = delete;
  NcclLinks& operator=(const NcclLinks&) = delete;

  const std::string& problem() const { return problem_; }
  cuda::NcclResult result() const { return result_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  int card() const { return card_; }

  // Does all of them side by side; those of one rank and one way in order. Gives what is wrong with how they
  // were asked for. Where the other rank is gone it goes on until `abort`, as a card does.
  std::string exchange(const std::vector<NcclTransfer>& transfers);
  void abort() { is_aborted_ = true; }
  cuda::NcclResult error() const { return error_; }

  std::atomic<int> under_way{0};

 private:
  struct Progress;
  bool meet(const std::string& name);
  bool greet(int socket, int& other);
  bool connect_to(const std::string& name, int other);
  std::string advance(Progress& progress);
  bool refuse(cuda::NcclResult result, const std::string& problem);

  int rank_, size_, card_;
  std::vector<int> sockets_;  // by rank; to itself there are two ends
  int own_end_ = -1;
  std::string problem_;
  cuda::NcclResult result_ = cuda::kNcclSuccess;
  std::atomic<bool> is_aborted_{false};
  std::atomic<cuda::NcclResult> error_{cuda::kNcclSuccess};
};

}  // namespace kiln::fake
