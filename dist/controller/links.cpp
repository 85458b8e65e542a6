#include "dist/controller/links.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace kiln::dist {
namespace {

constexpr std::uint64_t kHeadTag = 1, kRestTag = 2;
// A message begins with its length. What fits into this goes in one piece, the rest of a longer one follows.
constexpr std::size_t kHeadBytes = 512;
constexpr std::size_t kInHead = kHeadBytes - sizeof(std::uint64_t);

using Head = std::array<std::byte, kHeadBytes>;

}  // namespace

struct Links::Link {
  int peer;
  Head head{};
  std::vector<std::byte> message;
  std::unique_ptr<Transport::Request> receiving;
  bool has_head = false;
};

struct Links::Sending {
  Head head{};
  std::vector<std::byte> message;
  std::unique_ptr<Transport::Request> first, rest;
};

Links::Links(Transport& transport) : transport_(transport) {
  const int first = transport.rank() == 0 ? 1 : 0;
  const int end = transport.rank() == 0 ? transport.size() : 1;
  for (int peer = first; peer < end; ++peer) {
    links_.push_back(std::make_unique<Link>());
    links_.back()->peer = peer;
    expect(*links_.back());
  }
}

Links::~Links() = default;

void Links::expect(Link& link) {
  link.has_head = false;
  link.receiving = transport_.receive(link.peer, kHeadTag, link.head);
}

void Links::send(int to, std::vector<std::byte> message) {
  auto& sending = *sending_.emplace_back(std::make_unique<Sending>());
  sending.message = std::move(message);
  const std::uint64_t length = sending.message.size();
  std::memcpy(sending.head.data(), &length, sizeof length);
  std::copy_n(sending.message.begin(), std::min(sending.message.size(), kInHead),
              sending.head.begin() + sizeof length);
  sending.first = transport_.send(to, kHeadTag, sending.head);
  if (length > kInHead)
    sending.rest = transport_.send(to, kRestTag, std::span(sending.message).subspan(kInHead));
}

std::optional<Links::Message> Links::take() {
  drop_sent();
  for (const auto& link : links_) {
    if (!link->receiving->test()) continue;
    if (!link->has_head) {
      std::uint64_t length = 0;
      std::memcpy(&length, link->head.data(), sizeof length);
      link->message.resize(length);
      std::copy_n(link->head.begin() + sizeof length, std::min<std::size_t>(length, kInHead),
                  link->message.begin());
      link->has_head = true;
      if (length > kInHead) {
        link->receiving = transport_.receive(link->peer, kRestTag, std::span(link->message).subspan(kInHead));
        if (!link->receiving->test()) continue;
      }
    }
    Message message{link->peer, std::move(link->message)};
    expect(*link);
    return message;
  }
  return std::nullopt;
}

void Links::wait(std::chrono::milliseconds limit) {
  std::vector<Transport::Request*> requests;
  for (const auto& link : links_) requests.push_back(link->receiving.get());
  transport_.wait_any(requests, limit);
}

void Links::drop_sent() {
  std::erase_if(sending_,
                [](const auto& each) { return each->first->test() && (!each->rest || each->rest->test()); });
}

void Links::flush() {
  for (const auto& each : sending_) {
    each->first->wait();
    if (each->rest) each->rest->wait();
  }
  sending_.clear();
}

}  // namespace kiln::dist
