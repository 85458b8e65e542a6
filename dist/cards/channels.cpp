#include "dist/cards/channels.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <numeric>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dist/algorithms/moves.h"
#include "dist/cards/card_memory.h"
#include "dist/cards/nccl_transport.h"
#include "tensor/cuda/refusal.h"
#include "tensor/error.h"

namespace kiln::dist {
namespace {

// What a rank says when a channel is opened, and again when its part is open.
struct Said {
  cuda::Uuid card{};
  std::array<char, 240> why{};  // it cannot use NCCL; empty: it can
  void refuse(const std::string& sentence) { sentence.copy(why.data(), why.size() - 1); }
};
// What the first rank says of all.
struct Begin {
  cuda::NcclId id{};
  std::array<char, 240> why{};
};

template <class T>
Bytes bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

std::vector<Said> all_say(const Group& group, const Said& mine) {
  std::vector<Said> all(group.size());
  const std::vector<std::size_t> sizes(group.size(), sizeof(Said));
  allgather(group, std::as_bytes(std::span(&mine, 1)), sizes, std::as_writable_bytes(std::span(all)));
  return all;
}

std::string refusal_among(const Group& group, const std::vector<Said>& all) {
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k].why[0] != '\0') return fmt::format("rank {}: {}", group.ranks[k], all[k].why.data());
  }
  const auto is_same_card = [&](std::size_t a, std::size_t b) {
    return std::memcmp(&all[a].card, &all[b].card, sizeof(cuda::Uuid)) == 0;
  };
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = a + 1; b < all.size(); ++b) {
      if (is_same_card(a, b))
        return fmt::format("ranks {} and {} have one card", group.ranks[a], group.ranks[b]);
    }
  }
  return "";
}

Begin first_says(const Group& group) {
  Begin begin;
  if (group.me == 0) {
    try {
      begin.id = cuda::make_nccl_id();
    } catch (const OpError& error) {
      error.message().copy(begin.why.data(), begin.why.size() - 1);
    }
  }
  broadcast(group, 0, bytes_of(begin));
  return begin;
}

}  // namespace

Channels::Channels(Transport& host) : host_(host) {}

Channels::~Channels() {
  for (auto& [ranks, channel] : channels_) {
    if (channel.transport) channel.transport->abort();
  }
}

void Channels::close() {
  const std::lock_guard lock(mutex_);
  channels_.clear();
}

void Channels::enter(Device card) {
  if (stream_) return;
  stream_ = std::make_unique<cuda::SideStream>(cuda::Context::of(card));
  card_memory_ = std::make_unique<CardMemory>(*stream_);
  staged_memory_ = std::make_unique<StagedMemory>(*stream_, [this] { wait(nullptr); });
}

std::string Channels::why_not(Device card) {
  if (const auto refusal = cuda::refusal_of(card)) return refusal->sentence;
  try {
    enter(card);
  } catch (const OpError& error) {
    return error.message();
  }
  const auto refusal = cuda::refusal_of(cuda::nccl());
  return refusal ? refusal->sentence : "";
}

Channels::Channel Channels::open(const Group& group, Device card) {
  Said mine;
  mine.refuse(why_not(card));
  if (stream_) mine.card = stream_->context().card().uuid;
  if (std::string why = refusal_among(group, all_say(group, mine)); !why.empty())
    return {nullptr, std::move(why)};
  const Begin begin = first_says(group);
  if (begin.why[0] != '\0') return {nullptr, fmt::format("rank {}: {}", group.ranks[0], begin.why.data())};
  const int size = static_cast<int>(group.size()), rank = static_cast<int>(group.me);
  Channel channel;
  try {
    auto made = std::make_unique<cuda::NcclCommunicator>(stream_->context(), begin.id, size, rank);
    channel.transport = std::make_unique<NcclTransport>(std::move(made), *stream_, rank, size);
  } catch (const OpError& error) {
    mine.refuse(error.message());
  }
  channel.why = refusal_among(group, all_say(group, mine));
  if (channel.why.empty()) return channel;
  if (channel.transport) channel.transport->abort();
  return {nullptr, channel.why};
}

Channels::Channel& Channels::channel_of(const Group& group, Device card) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = channels_.find(group.ranks); found != channels_.end()) return found->second;
  }
  Channel opened = open(group, card);
  const std::lock_guard lock(mutex_);
  return channels_[group.ranks] = std::move(opened);
}

void Channels::perform(const Group& group, Device card, std::span<const cuda::Event* const> ready,
                       bool computes_on_host, const std::function<void(const Group&)>& body) {
  Channel& channel = channel_of(group, card);
  for (const cuda::Event* const each : ready) stream_->follow(*each);
  try {
    if (channel.transport && !computes_on_host) {
      perform_on_card(group, channel, body);
    } else {
      perform_on_host(group, body);
    }
  } catch (const OpError& error) {
    drop(channel);
    if (error.kind() == ErrorKind::Device) hear_of_losses();
    throw;
  } catch (...) {
    drop(channel);
    throw;
  }
}

// Memory that the card may still be writing into is about to be free.
void Channels::drop(Channel& channel) {
  if (channel.transport) channel.transport->abort();
  if (stream_) stream_->wait();
}

// A transfer may fail because the other rank is lost, of which the host's transport hears a little later.
// Then that is what is told.
void Channels::hear_of_losses() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kLimit{3};
  for (const Clock::time_point end = Clock::now() + kLimit; Clock::now() < end;)
    host_.wait_any({}, std::chrono::milliseconds(10));
}

void Channels::perform_on_card(const Group& group, Channel& channel,
                               const std::function<void(const Group&)>& body) {
  cuda::Context::of(stream_->context().device());
  std::vector<int> places(group.size());
  std::iota(places.begin(), places.end(), 0);
  body({*channel.transport, std::move(places), group.me, group.tag, card_memory_.get()});
  channel.transport->flush();
  wait(channel.transport.get());
}

void Channels::perform_on_host(const Group& group, const std::function<void(const Group&)>& body) {
  Group staged = group;
  if (staged_memory_) staged.memory = staged_memory_.get();
  body(staged);
  if (staged_memory_) staged_memory_->finish();
}

// Short waits are asked for again and again; in long ones the thread sleeps. The host's transport knows of
// ranks that are lost, and of the end of the job.
void Channels::wait(NcclTransport* transport) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  while (!stream_->is_done()) {
    if (Clock::now() - start < std::chrono::microseconds(100)) continue;
    host_.wait_any({}, std::chrono::milliseconds(0));
    if (transport != nullptr) transport->check_transfers();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

std::vector<std::string> Channels::report() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [ranks, channel] : channels_) {
    const std::string who = fmt::format("cards of ranks {}", fmt::join(ranks, ", "));
    lines.push_back(channel.transport
                        ? fmt::format("{} exchange by NCCL {}", who, to_string(cuda::nccl().version))
                        : fmt::format("{} exchange through memory of the host: {}", who, channel.why));
  }
  return lines;
}

bool Channels::uses_nccl() const {
  const std::lock_guard lock(mutex_);
  const auto is_direct = [](const auto& each) { return each.second.transport != nullptr; };
  return !channels_.empty() && std::ranges::all_of(channels_, is_direct);
}

}  // namespace kiln::dist
