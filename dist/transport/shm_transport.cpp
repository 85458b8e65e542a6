#include "dist/transport/shm_transport.h"

#include <deque>
#include <utility>

#include "dist/transport/shared_memory.h"
#include "dist/transport/shm_peer.h"

namespace kiln::dist {
namespace {

class ShmTransport final : public Transport {
 public:
  ShmTransport(std::unique_ptr<SharedMemory> memory, int rank, int size)
      : memory_(std::move(memory)), rank_(rank), size_(size) {
    for (int peer = 0; peer < size; ++peer)
      peers_.emplace_back(memory_->ring(rank, peer), memory_->ring(peer, rank));
  }
  ~ShmTransport() override {
    end_news();
    memory_->signal(rank_).close();
    for (int peer = 0; peer < size_; ++peer) memory_->signal(peer).notify();
  }

  std::string_view name() const override { return "shm"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::unique_ptr<Request> send(int to, std::uint64_t tag, std::span<const std::byte> bytes) override;
  std::unique_ptr<Request> receive(int from, std::uint64_t tag, std::span<std::byte> bytes) override;

  ShmPeer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  // Moves what can be moved between this rank and each other one.
  void move() {
    for (int other = 0; other < size_; ++other)
      if (other != rank_ && peer(other).move()) memory_->signal(other).notify();
  }
  bool has_left(int rank) { return memory_->signal(rank).is_closed() && !peer(rank).has_arrived(); }

 protected:
  std::uint32_t events() const override { return memory_->signal(rank_).events(); }
  void notify() override { memory_->signal(rank_).notify(); }
  void sleep(std::uint32_t seen, std::chrono::microseconds limit, int) override {
    memory_->signal(rank_).sleep(seen, limit);
  }

 private:
  std::unique_ptr<SharedMemory> memory_;
  int rank_, size_;
  std::deque<ShmPeer> peers_;  // by rank
};

class ShmRequest final : public Transport::Request {
 public:
  ShmRequest(ShmTransport& transport, int peer, std::uint64_t tag, std::span<std::byte> bytes)
      : Request(transport), transport_(transport), peer_(peer), transfer_{{tag, bytes.size()}, bytes} {}
  ~ShmRequest() override {
    if (!transfer_.is_done) transport_.peer(peer_).forget(transfer_);
  }

  ShmTransfer& transfer() { return transfer_; }
  bool test() override {
    if (transfer_.is_done) return true;
    transport_.move();
    if (!transfer_.is_done && transport_.has_left(peer_))
      throw PeerLost({peer_}, "rank " + std::to_string(peer_) + " closed its link");
    return transfer_.is_done;
  }

 private:
  ShmTransport& transport_;
  int peer_;
  ShmTransfer transfer_;
};

std::unique_ptr<Transport::Request> ShmTransport::send(int to, std::uint64_t tag,
                                                       std::span<const std::byte> bytes) {
  // A send only reads them.
  const std::span<std::byte> writable(const_cast<std::byte*>(bytes.data()), bytes.size());
  auto request = std::make_unique<ShmRequest>(*this, to, tag, writable);
  peer(to).send(request->transfer());
  if (peer(to).move()) memory_->signal(to).notify();
  return request;
}

std::unique_ptr<Transport::Request> ShmTransport::receive(int from, std::uint64_t tag,
                                                          std::span<std::byte> bytes) {
  auto request = std::make_unique<ShmRequest>(*this, from, tag, bytes);
  peer(from).receive(request->transfer());
  return request;
}

}  // namespace

std::unique_ptr<Transport> make_shm_transport(Store& store, const std::string& scope, int rank, int size,
                                              std::chrono::milliseconds limit) {
  std::unique_ptr<SharedMemory> memory;
  if (rank == 0) {
    memory = std::make_unique<SharedMemory>(size);
    store.set(scope + "/memory", memory->handle());
  } else {
    memory = std::make_unique<SharedMemory>(size, store.get(scope + "/memory", limit));
  }
  // Rank 0 stays until all have come, and no rank sends to one that may not come.
  meet(store, scope, rank, size, limit);
  return std::make_unique<ShmTransport>(std::move(memory), rank, size);
}

}  // namespace kiln::dist
