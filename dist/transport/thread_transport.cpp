// Transports within one process: ranks are threads, and a message is one copy.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "dist/transport/transport.h"

namespace kiln::dist {
namespace {

class ThreadTransport;

// One end of a message, until both are there.
struct Offer {
  ThreadTransport* owner;
  std::byte* bytes;
  std::size_t size;
  int peer;
  bool is_done = false;
};

// What sends and receives wait for each other, in the order in which they began.
struct Mailbox {
  std::deque<std::shared_ptr<Offer>> sends, receives;
};

struct Hub {
  std::mutex mutex;
  std::map<std::tuple<int, int, std::uint64_t>, Mailbox> mailboxes;  // by sender, receiver, tag
  std::vector<ThreadTransport*> ranks;  // null: that rank's transport was destroyed
};

class ThreadRequest final : public Transport::Request {
 public:
  ThreadRequest(Transport& transport, std::shared_ptr<Hub> hub, std::shared_ptr<Offer> offer)
      : Request(transport), hub_(std::move(hub)), offer_(std::move(offer)) {}
  ~ThreadRequest() override {
    const std::lock_guard lock(hub_->mutex);
    if (offer_->is_done) return;
    for (auto& [_, mailbox] : hub_->mailboxes) {
      std::erase(mailbox.sends, offer_);
      std::erase(mailbox.receives, offer_);
    }
  }

  bool test() override {
    const std::lock_guard lock(hub_->mutex);
    if (!offer_->is_done && hub_->ranks[static_cast<std::size_t>(offer_->peer)] == nullptr)
      throw PeerLost({offer_->peer}, "rank " + std::to_string(offer_->peer) + " closed its link");
    return offer_->is_done;
  }

 private:
  std::shared_ptr<Hub> hub_;
  std::shared_ptr<Offer> offer_;
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<Hub> hub, int rank, int size)
      : hub_(std::move(hub)), rank_(rank), size_(size) {
    hub_->ranks[static_cast<std::size_t>(rank)] = this;
  }
  ~ThreadTransport() override {
    const std::lock_guard lock(hub_->mutex);
    hub_->ranks[static_cast<std::size_t>(rank_)] = nullptr;
    for (ThreadTransport* peer : hub_->ranks) {
      if (peer != nullptr) peer->notify();
    }
  }

  std::string_view name() const override { return size_ == 1 ? "self" : "threads"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::unique_ptr<Request> send(int to, std::uint64_t tag, std::span<const std::byte> bytes) override {
    auto offer = std::make_shared<Offer>(Offer{this, const_cast<std::byte*>(bytes.data()), bytes.size(), to});
    return post({rank_, to, tag}, &Mailbox::sends, offer);
  }
  std::unique_ptr<Request> receive(int from, std::uint64_t tag, std::span<std::byte> bytes) override {
    auto offer = std::make_shared<Offer>(Offer{this, bytes.data(), bytes.size(), from});
    return post({from, rank_, tag}, &Mailbox::receives, offer);
  }

 private:
  std::unique_ptr<Request> post(const std::tuple<int, int, std::uint64_t>& key,
                                std::deque<std::shared_ptr<Offer>> Mailbox::* side,
                                std::shared_ptr<Offer> offer) {
    const std::lock_guard lock(hub_->mutex);
    Mailbox& mailbox = hub_->mailboxes[key];
    (mailbox.*side).push_back(offer);
    while (!mailbox.sends.empty() && !mailbox.receives.empty()) {
      deliver(*mailbox.sends.front(), *mailbox.receives.front());
      mailbox.sends.pop_front();
      mailbox.receives.pop_front();
    }
    if (mailbox.sends.empty() && mailbox.receives.empty()) hub_->mailboxes.erase(key);
    return std::make_unique<ThreadRequest>(*this, hub_, std::move(offer));
  }

  static void deliver(Offer& from, Offer& to) {
    if (from.size != to.size) {
      throw std::logic_error("a message of " + std::to_string(from.size) + " bytes met a receive of " +
                             std::to_string(to.size));
    }
    if (from.size > 0) std::memcpy(to.bytes, from.bytes, from.size);
    for (Offer* end : {&from, &to}) {
      end->is_done = true;
      end->owner->notify();
    }
  }

  std::shared_ptr<Hub> hub_;
  int rank_, size_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_thread_transports(int n) {
  auto hub = std::make_shared<Hub>();
  hub->ranks.resize(static_cast<std::size_t>(n));
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < n; ++rank) transports.push_back(std::make_unique<ThreadTransport>(hub, rank, n));
  return transports;
}

std::unique_ptr<Transport> make_self_transport() { return std::move(make_thread_transports(1).front()); }

}  // namespace kiln::dist
