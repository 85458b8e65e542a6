#include "dist/transport/shm_transport.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "dist/transport/shared_memory.h"

namespace kiln::dist {
namespace {

// What stands in a ring before the bytes of a message.
struct Head {
  std::uint64_t tag;
  std::uint64_t size;
};

// Bytes on their way, one side of them.
struct Transfer {
  Head head;
  std::span<std::byte> bytes;
  std::size_t moved = 0;   // of the bytes
  std::size_t headed = 0;  // of the head
  bool is_done = false;
};

// A message that came before it was asked for.
struct Unexpected {
  Head head;
  std::vector<std::byte> bytes;
};

// What one rank and another have to do with each other.
class Peer {
 public:
  Peer(SharedRing& out, SharedRing& in) : out_(out), in_(in) {}

  void send(Transfer& transfer) { sends_.push_back(&transfer); }
  void receive(Transfer& transfer) {
    const auto here = std::ranges::find_if(early_, [&](const Unexpected& message) {
      return message.head.tag == transfer.head.tag && &message != unfinished();
    });
    if (here == early_.end()) return receives_.push_back(&transfer);
    finish(transfer, here->head, here->bytes);
    early_.erase(here);
  }
  void forget(Transfer& transfer) {
    // The rest of a message that was begun would be taken for the next one.
    if (transfer.headed > 0) is_cut_ = true;
    std::erase(sends_, &transfer);
    std::erase(receives_, &transfer);
    if (arriving_ != &transfer) return;
    arriving_ = nullptr;
    early_.push_back({head_, std::vector<std::byte>(head_.size)});
  }
  /// Writes and reads what can be. True when anything moved.
  bool move() {
    const bool wrote = write(), was_read = read();
    return wrote || was_read;
  }
  bool has_arrived() const { return in_.readable() > 0; }

 private:
  bool write() {
    bool moved = false;
    while (!sends_.empty() && !is_cut_) {
      Transfer& transfer = *sends_.front();
      const auto head = std::as_bytes(std::span(&transfer.head, 1));
      const std::size_t of_head = out_.write(head.subspan(transfer.headed));
      transfer.headed += of_head;
      const std::size_t of_bytes =
          transfer.headed == sizeof(Head) ? out_.write(transfer.bytes.subspan(transfer.moved)) : 0;
      transfer.moved += of_bytes;
      moved = moved || of_head + of_bytes > 0;
      if (transfer.headed < sizeof(Head) || transfer.moved < transfer.bytes.size()) break;
      transfer.is_done = true;
      sends_.pop_front();
    }
    return moved;
  }

  bool read() {
    bool moved = false;
    for (;;) {
      if (!is_inside_ && !begin_message()) return moved;
      const std::span<std::byte> rest = arriving_ != nullptr
                                            ? arriving_->bytes.subspan(arrived_)
                                            : std::span(early_.back().bytes).subspan(arrived_);
      const std::size_t count = in_.read(rest);
      arrived_ += count;
      moved = true;
      if (arrived_ < head_.size) return moved;
      is_inside_ = false;
      end_message();
    }
  }

  // Reads the head of the next message, where it is whole, and finds where its bytes go.
  bool begin_message() {
    if (in_.readable() < sizeof(Head)) return false;
    in_.read(std::as_writable_bytes(std::span(&head_, 1)));
    is_inside_ = true;
    arrived_ = 0;
    const auto asked =
        std::ranges::find_if(receives_, [&](const Transfer* each) { return each->head.tag == head_.tag; });
    if (asked == receives_.end()) {
      arriving_ = nullptr;
      early_.push_back({head_, std::vector<std::byte>(head_.size)});
    } else {
      arriving_ = *asked;
      receives_.erase(asked);
      check_size(*arriving_, head_);
    }
    return true;
  }

  // What was asked for while it arrived is given now.
  void end_message() {
    if (arriving_ != nullptr) {
      std::exchange(arriving_, nullptr)->is_done = true;
      return;
    }
    const auto asked =
        std::ranges::find_if(receives_, [&](const Transfer* each) { return each->head.tag == head_.tag; });
    if (asked == receives_.end()) return;
    finish(**asked, head_, early_.back().bytes);
    receives_.erase(asked);
    early_.pop_back();
  }

  static void check_size(const Transfer& transfer, const Head& head) {
    if (transfer.bytes.size() == head.size) return;
    throw std::logic_error("a message of " + std::to_string(head.size) + " bytes met a receive of " +
                           std::to_string(transfer.bytes.size()));
  }

  static void finish(Transfer& transfer, const Head& head, std::span<const std::byte> bytes) {
    check_size(transfer, head);
    std::ranges::copy(bytes, transfer.bytes.begin());
    transfer.is_done = true;
  }

  const Unexpected* unfinished() const {
    return is_inside_ && arriving_ == nullptr ? &early_.back() : nullptr;
  }

  SharedRing& out_;
  SharedRing& in_;
  std::deque<Transfer*> sends_, receives_;  // that have begun, in their order
  std::list<Unexpected> early_;             // the last may be unfinished
  bool is_cut_ = false;                     // nothing more can be sent
  bool is_inside_ = false;                  // a message, whose head is `head_`
  Head head_{};
  Transfer* arriving_ = nullptr;  // where its bytes go; null: to the last of `early_`
  std::size_t arrived_ = 0;
};

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

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
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
  std::deque<Peer> peers_;  // by rank
};

class ShmRequest final : public Transport::Request {
 public:
  ShmRequest(ShmTransport& transport, int peer, std::uint64_t tag, std::span<std::byte> bytes)
      : Request(transport), transport_(transport), peer_(peer), transfer_{{tag, bytes.size()}, bytes} {}
  ~ShmRequest() override {
    if (!transfer_.is_done) transport_.peer(peer_).forget(transfer_);
  }

  Transfer& transfer() { return transfer_; }
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
  Transfer transfer_;
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
