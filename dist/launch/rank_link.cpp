#include "dist/launch/rank_link.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "dist/transport/transport.h"
#include "tensor/held_signals.h"

namespace kiln::dist {
namespace {

using Clock = std::chrono::steady_clock;

// How long a rank has to end by itself when its job has ended.
constexpr std::chrono::milliseconds kGrace{3000};

std::int64_t steady_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

// A rank outlives its job in no case.
void end_process() {
  kill(getpid(), SIGTERM);
  std::this_thread::sleep_for(kGrace);
  _exit(128 + SIGTERM);
}

}  // namespace

RankLink::RankLink(const std::string& addresses, const std::string& secret, const Hello& hello)
    : socket_(connect_to_any(addresses)), wake_(eventfd(0, EFD_CLOEXEC)) {
  send({Message::Kind::Hello, secret, hello_text(hello)});
  const HeldSignals signals;  // they are for the thread that runs the program
  thread_ = std::thread([this] { listen(); });
}

RankLink::~RankLink() {
  ends_ = true;
  send({Message::Kind::Goodbye, {}, {}});
  const std::uint64_t one = 1;
  if (::write(wake_.get(), &one, sizeof(one)) < 0) shutdown(socket_.get(), SHUT_RDWR);
  thread_.join();
}

void RankLink::set(const std::string& key, const std::string& value) {
  send({Message::Kind::Set, key, value});
}

std::string RankLink::get(const std::string& key, std::chrono::milliseconds limit) {
  send({Message::Kind::Get, key, {}});
  std::unique_lock lock(mutex_);
  const bool has_come =
      arrived_.wait_for(lock, limit, [&] { return values_.contains(key) || loss_ != nullptr; });
  if (const auto found = values_.find(key); found != values_.end()) return found->second;
  if (has_come) throw PeerLost(loss_->ranks, loss_->why);
  throw NotSet(key, limit);
}

// The answer was written in the middle of the shortest wait, give or take half of that wait (Cristian's
// algorithm). Processes of one host have one clock.
std::int64_t RankLink::to_job_clock() {
  constexpr int kTries = 8;
  constexpr std::chrono::seconds kLimit{10};
  std::int64_t shortest = INT64_MAX, offset = 0;
  for (int k = 0; k < kTries; ++k) {
    const std::string key = "clock of the launcher/" + std::to_string(clock_asked_++);
    const std::int64_t asked = steady_nanoseconds();
    send({Message::Kind::ReadClock, key, {}});
    std::string answer;
    {
      std::unique_lock lock(mutex_);
      if (!arrived_.wait_for(lock, kLimit, [&] { return values_.contains(key); })) throw NotSet(key, kLimit);
      answer = values_.extract(key).mapped();
    }
    const std::int64_t waited = steady_nanoseconds() - asked;
    if (waited >= shortest) continue;
    shortest = waited;
    std::istringstream words(answer);
    std::int64_t there = 0, began = 0;
    words >> there >> began;
    const std::int64_t differs = there - (asked + waited / 2);
    offset = (std::abs(differs) <= waited / 2 + 1 ? 0 : differs) - began;
  }
  return offset;
}

RankLink::Epoch RankLink::newest_epoch() {
  const std::lock_guard lock(mutex_);
  return epoch_;
}

RankLink::Epoch RankLink::wait_for_epoch(int number, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (arrived_.wait_for(lock, limit, [&] { return epoch_.number > number; })) return epoch_;
  throw PeerLost({},
                 "the launcher has begun no new epoch within " + std::to_string(limit.count() / 1000) + " s");
}

bool RankLink::has_lost() {
  const std::lock_guard lock(mutex_);
  return loss_ != nullptr;
}

void RankLink::begin_epoch(int number) {
  const std::lock_guard lock(mutex_);
  if (loss_ && loss_->epoch < number) loss_.reset();
}

void RankLink::on_lost(LostHandler handler) {
  std::unique_lock lock(mutex_);
  handler_ = std::move(handler);
  if (loss_ && handler_) handler_(loss_->ranks, loss_->why);
}

void RankLink::tell_ready() { send({Message::Kind::Ready, {}, {}}); }

void RankLink::tell_unheard(const std::vector<int>& numbers) {
  send({Message::Kind::Unheard, {}, number_text(numbers)});
}

void RankLink::send(const Message& message) {
  const std::lock_guard lock(sending_);
  const std::string bytes = encode(message);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // the thread finds the connection closed, and says so
    sent += static_cast<std::size_t>(count);
  }
}

void RankLink::listen() {
  MessageReader reader;
  Clock::time_point heard = Clock::now(), told = heard, looked = heard;
  std::array<char, 1 << 14> bytes;
  while (!ends_) {
    std::array<pollfd, 2> fds{{{socket_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
    poll(fds.data(), fds.size(), static_cast<int>(beat_interval().count()));
    if (fds[0].revents != 0) {
      const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        if (!ends_) end_process();
        return;
      }
      heard = Clock::now();
      if (count > 0) reader.feed({bytes.data(), static_cast<std::size_t>(count)});
      while (const auto message = reader.next()) take(*message);
    }
    // A process that was stopped itself has heard no other meanwhile.
    if (Clock::now() - looked > longest_silence() / 2) heard = Clock::now();
    looked = Clock::now();
    if (looked - heard > longest_silence()) {
      lose({INT_MAX, {}, "the launcher " + silence_text()});
      std::this_thread::sleep_for(kGrace);
      return end_process();  // others may go on without this rank, and it must not go on beside them
    }
    if (Clock::now() - told < beat_interval()) continue;
    told = Clock::now();
    send({Message::Kind::Beat, {}, {}});
  }
}

void RankLink::take(const Message& message) {
  switch (message.kind) {
    case Message::Kind::Value:
    case Message::Kind::ReadClock: {
      const std::lock_guard lock(mutex_);
      values_[message.key] = message.value;
      arrived_.notify_all();
      return;
    }
    case Message::Kind::Lost: {
      const std::vector<int> numbers = parse_numbers(message.key);
      if (!numbers.empty()) lose({numbers.front(), {numbers.begin() + 1, numbers.end()}, message.value});
      return;
    }
    case Message::Kind::Epoch: {
      const std::lock_guard lock(mutex_);
      epoch_ = {std::stoi(message.key), parse_place(message.value)};
      arrived_.notify_all();
      return;
    }
    case Message::Kind::Interrupt:
      kill(getpid(), SIGINT);
      return;
    case Message::Kind::Stop:
      return end_process();
    default:
      return;
  }
}

void RankLink::lose(Loss loss) {
  const std::lock_guard lock(mutex_);
  if (loss_) return;
  loss_ = std::make_unique<Loss>(std::move(loss));
  arrived_.notify_all();
  if (handler_) handler_(loss_->ranks, loss_->why);
}

}  // namespace kiln::dist
