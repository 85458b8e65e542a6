#include "dist/algorithms/moves.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace kiln::dist {
namespace {

// A member of a broadcast passes on what it has of the message while the rest is on its way.
constexpr std::size_t kBroadcastPiece = std::size_t{1} << 20U;

}  // namespace

void allgather(const Group& group, std::span<const std::byte> mine, std::span<const std::size_t> sizes,
               std::span<std::byte> all) {
  std::size_t begin = 0;
  Requests requests;
  for (std::size_t member = 0; member < group.size(); ++member) {
    if (member == group.me) {
      group.memory->copy(mine, all.data() + begin);
    } else {
      if (sizes[member] > 0) requests.add(group.receive(member, all.subspan(begin, sizes[member])));
      if (!mine.empty()) requests.add(group.send(member, mine));
    }
    begin += sizes[member];
  }
  requests.wait();
}

void broadcast(const Group& group, std::size_t root, std::span<std::byte> data) {
  // A binomial tree over the members, counted from the root: place k hears from k without its lowest bit.
  const std::size_t n = group.size(), place = (group.me + n - root) % n;
  const auto member_at = [&](std::size_t at) { return (at + root) % n; };
  const std::size_t lowest = place == 0 ? n : place & (~place + 1);
  Requests sent;
  for (std::size_t begin = 0; begin < data.size(); begin += kBroadcastPiece) {
    const std::span<std::byte> piece = data.subspan(begin, std::min(kBroadcastPiece, data.size() - begin));
    if (place != 0) group.receive(member_at(place - lowest), piece)->wait();
    for (std::size_t bit = std::bit_floor(lowest - 1); bit > 0; bit /= 2)
      if (place + bit < n) sent.add(group.send(member_at(place + bit), piece));
  }
  sent.wait();
}

void alltoall(const Group& group, std::span<const std::byte> input, std::span<const std::size_t> send_sizes,
              std::span<std::byte> output, std::span<const std::size_t> receive_sizes) {
  std::size_t sent = 0, received = 0;
  Requests requests;
  for (std::size_t member = 0; member < group.size(); ++member) {
    const std::span<const std::byte> to = input.subspan(sent, send_sizes[member]);
    const std::span<std::byte> from = output.subspan(received, receive_sizes[member]);
    sent += to.size();
    received += from.size();
    if (member == group.me) {
      group.memory->copy(to, from.data());
      continue;
    }
    if (!from.empty()) requests.add(group.receive(member, from));
    if (!to.empty()) requests.add(group.send(member, to));
  }
  requests.wait();
}

void barrier(const Group& group) {
  // In round k a member hears that the 2^k before it have come, by way of those that they heard of.
  const std::size_t n = group.size();
  const std::array<std::byte, 1> sent{};
  std::array<std::byte, 1> received{};
  for (std::size_t distance = 1; distance < n; distance *= 2) {
    const auto send = group.send((group.me + distance) % n, sent);
    group.receive((group.me + n - distance) % n, received)->wait();
    send->wait();
  }
}

}  // namespace kiln::dist
