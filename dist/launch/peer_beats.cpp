#include "dist/launch/peer_beats.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <utility>

#include "dist/launch/rendezvous.h"
#include "tensor/held_signals.h"

namespace kiln::dist {

PeerBeats::PeerBeats(Descriptor socket, const std::map<int, std::string>& peers, int rank,
                     const std::string& token, Report report)
    : socket_(std::move(socket)),
      wake_(eventfd(0, EFD_CLOEXEC)),
      token_(token + " "),
      own_(token_ + std::to_string(rank)),
      report_(std::move(report)) {
  for (const auto& [peer, address] : peers) peers_[peer].address = datagram_address(address);
  beat(Clock::now());         // others hear this rank before it does anything with them
  const HeldSignals signals;  // they are for the thread that runs the program
  thread_ = std::thread([this] { run(); });
}

PeerBeats::~PeerBeats() {
  ends_ = true;
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void PeerBeats::run() {
  Clock::time_point looked = Clock::now(), beaten{};
  while (!ends_) {
    std::array<pollfd, 2> fds{{{socket_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
    poll(fds.data(), fds.size(), static_cast<int>(beat_interval().count() / 2));
    const Clock::time_point now = Clock::now();
    receive(now);
    // A process that was stopped itself has heard no other meanwhile.
    if (now - looked > longest_silence() / 2)
      for (auto& [rank, peer] : peers_)
        if (peer.heard) peer.heard = now;
    looked = now;
    if (now - beaten < beat_interval()) continue;
    beaten = now;
    beat(now);
  }
}

void PeerBeats::receive(Clock::time_point now) {
  std::array<char, 256> bytes;
  for (;;) {
    const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0) return;
    take({bytes.data(), static_cast<std::size_t>(count)}, now);
  }
}

void PeerBeats::take(std::string_view text, Clock::time_point now) {
  if (!text.starts_with(token_)) return;
  text.remove_prefix(token_.size());
  int rank = -1;
  std::from_chars(text.data(), text.data() + text.size(), rank);
  if (const auto peer = peers_.find(rank); peer != peers_.end()) peer->second.heard = now;
}

void PeerBeats::beat(Clock::time_point now) {
  std::vector<int> unheard;
  for (const auto& [rank, peer] : peers_) {
    const auto* const name = reinterpret_cast<const sockaddr*>(&peer.address.name);
    sendto(socket_.get(), own_.data(), own_.size(), MSG_DONTWAIT, name, peer.address.length);
    if (peer.heard && now - *peer.heard > longest_silence()) unheard.push_back(rank);
  }
  const bool has_any = !unheard.empty();
  if (has_any || has_reported_) report_(unheard);
  has_reported_ = has_any;
}

}  // namespace kiln::dist
