// Owns calling NCCL: a communicator of ranks that each have a card, and transfers between these.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tensor/cuda/context.h"

namespace kiln::cuda {

// What one rank makes, and all ranks of a communicator are made with. Throws OpError (Device), as all of
// these.
NcclId make_nccl_id();

class NcclCommunicator {
 public:
  // Waits for all ranks. The card must not be that of another rank.
  NcclCommunicator(Context& context, const NcclId& id, int size, int rank);
  // After all of its work is done, or `abort`.
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  struct Transfer {
    bool is_sent;
    int rank;  // the other one
    std::byte* data;
    std::size_t bytes;
  };
  // Gives transfers to a stream, all of which go on at the same time. What a rank sends to another one, and
  // what that receives from it, are in one order and of equal sizes.
  void exchange(std::span<const Transfer> transfers, StreamHandle stream);
  // Throws for what went wrong with work that was given.
  void check();
  // Ends its work, which may wait for ranks that are gone.
  void abort() noexcept;

 private:
  [[noreturn]] void refuse(const char* entry, NcclResult result) const;
  void check(const char* entry, NcclResult result) const {
    if (result != kNcclSuccess) refuse(entry, result);
  }

  NcclComm handle_ = nullptr;
};

}  // namespace kiln::cuda
