// Owns how the cards of a set of ranks are connected: directly, by NCCL, or through memory of the host.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "dist/algorithms/group.h"
#include "tensor/device.h"

namespace kiln::cuda {
class Event;
class SideStream;
}  // namespace kiln::cuda

namespace kiln::dist {

class CardMemory;
class StagedMemory;
class NcclTransport;

/// Of one rank; for the communication thread, but for `report` and `uses_nccl`.
class Channels {
 public:
  /// `host` connects all ranks, and must outlive this.
  explicit Channels(Transport& host);
  /// Drops what is under way.
  ~Channels();
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  /// Runs an algorithm of the members of `group`, which all call it, with elements on this rank's card, the
  /// same one each time. The group that `body` gets knows those places. The elements are there when all of
  /// `ready` have come, and the results when this returns. `computes_on_host`: the algorithm is for memory of
  /// the host. Throws what the transport throws, and OpError.
  void perform(const Group& group, Device card, std::span<const cuda::Event* const> ready,
               bool computes_on_host, const std::function<void(const Group&)>& body);
  /// When all ranks leave, and nothing is under way.
  void close();

  /// How sets of ranks are connected that have had elements on cards so far, and why not by NCCL: a line
  /// each.
  std::vector<std::string> report() const;
  /// Are there such sets, and are all of them connected by NCCL?
  bool uses_nccl() const;

 private:
  struct Channel {
    std::unique_ptr<NcclTransport> transport;  // null: through the host
    std::string why;                           // through the host
  };

  Channel& channel_of(const Group& group, Device card);
  Channel open(const Group& group, Device card);
  void enter(Device card);
  std::string why_not(Device card);
  void perform_on_card(const Group& group, Channel& channel, const std::function<void(const Group&)>& body);
  void perform_on_host(const Group& group, const std::function<void(const Group&)>& body);
  void wait(NcclTransport* transport);
  void drop(Channel& channel);
  void hear_of_losses();

  Transport& host_;
  // Null on a rank without a card, which may have joined.
  std::unique_ptr<cuda::SideStream> stream_;
  std::unique_ptr<CardMemory> card_memory_;
  std::unique_ptr<StagedMemory> staged_memory_;
  mutable std::mutex mutex_;  // of `channels_`, for reports
  std::map<std::vector<int>, Channel> channels_;
};

}  // namespace kiln::dist
