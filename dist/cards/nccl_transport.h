// Owns how bytes move between cards of different ranks by NCCL.
#pragma once

#include <memory>
#include <vector>

#include "dist/transport/transport.h"
#include "tensor/cuda/nccl.h"
#include "tensor/cuda/side_stream.h"

namespace kiln::dist {

/// Between the members of one set of ranks, by their places in it. Places of bytes are those of the card.
///
/// A request is done as soon as its transfer is in the order of the stream, since whatever looks at the bytes
/// is given to that stream later. NCCL wants to be told at once of transfers that wait for each other: all
/// that began are given together when one of them is waited for. Members that run one algorithm wait at the
/// same places of it, so that their groups of transfers are of one form.
class NcclTransport final : public Transport {
 public:
  NcclTransport(std::unique_ptr<cuda::NcclCommunicator> communicator, cuda::SideStream& stream, int rank,
                int size);
  ~NcclTransport() override;

  std::string_view name() const override { return "nccl"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::unique_ptr<Request> send(int to, std::uint64_t tag, std::span<const std::byte> bytes) override;
  std::unique_ptr<Request> receive(int from, std::uint64_t tag, std::span<std::byte> bytes) override;

  /// Gives the transfers that began. Throws OpError (Device).
  void flush();
  /// Throws OpError (Device) for what went wrong with work that was given.
  void check_transfers() { communicator_->check(); }
  void abort() noexcept;

 private:
  class Begun;

  std::unique_ptr<cuda::NcclCommunicator> communicator_;
  cuda::SideStream& stream_;
  int rank_, size_;
  std::vector<cuda::NcclCommunicator::Transfer> begun_;
};

}  // namespace kiln::dist
