#include "tests/dist/transport_cases.h"

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace kiln::testing {
namespace {

using dist::Transport;
using Bytes = std::vector<std::byte>;
using Requests = std::vector<std::unique_ptr<Transport::Request>>;

constexpr std::uint64_t kTag = 40;

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

// Bytes that differ from those of other senders, receivers and numbers.
Bytes pattern(std::size_t size, int from, int to, int number = 0) {
  Bytes bytes(size);
  auto state = static_cast<std::uint32_t>(from * 7919 + to * 104729 + number * 31 + 1);
  for (std::byte& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24U);
  }
  return bytes;
}

// What was sent, and for what room was made: both outlive their requests.
struct Exchange {
  std::vector<Bytes> sent, received;
  Requests requests;
};

void wait_all(Requests& requests) {
  for (auto& request : requests) request->wait();
}

// Every rank sends `size` bytes to every other one, and checks what comes.
void exchange_all(Transport& transport, std::size_t size, std::uint64_t tag) {
  Exchange exchange;
  const int n = transport.size(), me = transport.rank();
  for (int peer = 0; peer < n; ++peer) {
    exchange.sent.push_back(pattern(size, me, peer));
    exchange.received.emplace_back(size);
  }
  for (int peer = 0; peer < n; ++peer) {
    if (peer == me) continue;
    const auto at = static_cast<std::size_t>(peer);
    exchange.requests.push_back(transport.send(peer, tag, exchange.sent[at]));
    exchange.requests.push_back(transport.receive(peer, tag, exchange.received[at]));
  }
  wait_all(exchange.requests);
  for (int peer = 0; peer < n; ++peer) {
    if (peer == me) continue;
    require(exchange.received[static_cast<std::size_t>(peer)] == pattern(size, peer, me),
            "the " + std::to_string(size) + " bytes of rank " + std::to_string(peer) + " arrived changed");
  }
}

void sends_small_messages(Transport& transport) {
  for (int round = 0; round < 50; ++round) exchange_all(transport, 9, kTag);
}

void sends_nothing(Transport& transport) { exchange_all(transport, 0, kTag); }

void sends_what_no_buffer_holds(Transport& transport) { exchange_all(transport, (5 << 20) + 3, kTag); }

void keeps_the_order_of_a_tag(Transport& transport) {
  const int n = transport.size(), me = transport.rank(), count = 20;
  const int next = (me + 1) % n, last = (me + n - 1) % n;
  if (n == 1) return;
  Exchange exchange;
  for (int i = 0; i < count; ++i) {
    exchange.sent.push_back(pattern(100, me, next, i));
    exchange.received.emplace_back(100);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    exchange.requests.push_back(transport.send(next, kTag, exchange.sent[i]));
    exchange.requests.push_back(transport.receive(last, kTag, exchange.received[i]));
  }
  wait_all(exchange.requests);
  for (int i = 0; i < count; ++i) {
    require(exchange.received[static_cast<std::size_t>(i)] == pattern(100, last, me, i),
            "message " + std::to_string(i) + " of a tag arrived out of order");
  }
}

void tells_tags_apart(Transport& transport) {
  const int n = transport.size(), me = transport.rank();
  if (n == 1) return;
  const int next = (me + 1) % n, last = (me + n - 1) % n;
  Bytes first_sent = pattern(1000, me, next, 1), second_sent = pattern(7, me, next, 2), first(1000),
        second(7);
  const auto send_first = transport.send(next, kTag + 1, first_sent);
  const auto send_second = transport.send(next, kTag + 2, second_sent);
  transport.receive(last, kTag + 2, second)->wait();
  transport.receive(last, kTag + 1, first)->wait();
  send_first->wait();
  send_second->wait();
  require(first == pattern(1000, last, me, 1) && second == pattern(7, last, me, 2), "tags were mixed up");
}

// Rank 0 hears of the message that comes first, not of that asked for first.
void waits_for_any(Transport& transport) {
  const int n = transport.size(), me = transport.rank();
  if (n < 2 || me > 1) return exchange_all(transport, 1, kTag + 9);
  Bytes bytes = pattern(64, 1, 0), late(64), early(64);
  if (me == 1) {
    transport.send(0, kTag + 4, bytes)->wait();
  } else {
    const auto asked_first = transport.receive(1, kTag + 3, late);
    const auto asked_second = transport.receive(1, kTag + 4, early);
    const std::array<Transport::Request*, 3> requests{asked_first.get(), nullptr, asked_second.get()};
    require(transport.wait_any(requests, std::chrono::seconds(20)), "no message came");
    require(asked_second->test() && !asked_first->test() && early == bytes, "the wrong request was done");
    require(!asked_first->wait(std::chrono::milliseconds(5)), "what was not sent has arrived");
    transport.send(1, kTag + 5, bytes)->wait();
    asked_first->wait();
    require(late == bytes, "the late message arrived changed");
  }
  if (me == 1) {
    transport.receive(0, kTag + 5, late)->wait();
    transport.send(0, kTag + 3, bytes)->wait();
  }
  exchange_all(transport, 1, kTag + 9);
}

void is_woken(Transport& transport) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  std::thread waker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    transport.wake();
  });
  const bool is_done = transport.wait_any({}, std::chrono::seconds(20));
  waker.join();
  require(!is_done && Clock::now() - begin < std::chrono::seconds(10), "a wake did not end the wait");
  require(!transport.wait_any({}, std::chrono::milliseconds(0)), "nothing was done");
  exchange_all(transport, 1, kTag + 8);
}

constexpr std::array kCases{
    TransportCase{"small messages arrive", sends_small_messages},
    TransportCase{"empty messages arrive", sends_nothing},
    TransportCase{"messages larger than any buffer arrive", sends_what_no_buffer_holds},
    TransportCase{"messages of a tag keep their order", keeps_the_order_of_a_tag},
    TransportCase{"messages of different tags are told apart", tells_tags_apart},
    TransportCase{"a wait for any ends with the first", waits_for_any},
    TransportCase{"a wait ends when it is woken", is_woken},
};

}  // namespace

std::span<const TransportCase> transport_cases() { return kCases; }

}  // namespace kiln::testing
