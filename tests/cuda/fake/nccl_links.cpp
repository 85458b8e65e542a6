#include "tests/cuda/fake/nccl_links.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace kiln::fake {

using namespace kiln::cuda;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kLimit{20};
constexpr int kNap = 10;  // milliseconds

struct Greeting {
  int rank, size, card;
};

// Names that begin with 0 are of no file.
std::pair<sockaddr_un, socklen_t> address_of(const std::string& name, int rank) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = name + "/" + std::to_string(rank);
  text.copy(address.sun_path + 1, sizeof address.sun_path - 2);
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size())};
}

bool send_all(int socket, const void* data, std::size_t bytes) {
  return send(socket, data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}
bool receive_all(int socket, void* data, std::size_t bytes) {
  return recv(socket, data, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

}  // namespace

// Of one transfer: its size goes before it.
struct NcclLinks::Progress {
  NcclTransfer transfer;
  int socket;
  std::uint64_t size = 0;
  std::size_t done = 0;  // of the size and the bytes

  std::size_t total() const { return sizeof size + transfer.bytes; }
  bool is_done() const { return done == total(); }
  // What is next, without an end that lies beyond the size.
  std::pair<std::byte*, std::size_t> next() {
    if (done < sizeof size) return {reinterpret_cast<std::byte*>(&size) + done, sizeof size - done};
    const std::size_t at = done - sizeof size;
    return {transfer.data + at, transfer.bytes - at};
  }
};

NcclLinks::NcclLinks(const std::string& name, int rank, int size, int card)
    : rank_(rank), size_(size), card_(card), sockets_(static_cast<std::size_t>(size), -1) {
  meet(name);
}

NcclLinks::~NcclLinks() {
  for (const int each : sockets_) {
    if (each >= 0) close(each);
  }
  if (own_end_ >= 0) close(own_end_);
}

bool NcclLinks::refuse(NcclResult result, const std::string& problem) {
  if (problem_.empty()) {
    result_ = result;
    problem_ = problem;
  }
  return false;
}

bool NcclLinks::meet(const std::string& name) {
  std::array<int, 2> own{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, own.data()) != 0) return refuse(kNcclSystemError, "no sockets");
  sockets_[static_cast<std::size_t>(rank_)] = own[0];
  own_end_ = own[1];
  const int door = socket(AF_UNIX, SOCK_STREAM, 0);
  const auto [address, length] = address_of(name, rank_);
  bool is_met =
      bind(door, reinterpret_cast<const sockaddr*>(&address), length) == 0 && listen(door, size_) == 0;
  if (!is_met) refuse(kNcclInvalidUsage, "there is a rank " + std::to_string(rank_) + " already");
  for (int other = 0; is_met && other < rank_; ++other) is_met = connect_to(name, other);
  for (int missing = size_ - rank_ - 1; is_met && missing > 0; --missing) {
    pollfd waits{door, POLLIN, 0};
    if (poll(&waits, 1, std::chrono::milliseconds(kLimit).count()) != 1) {
      is_met = refuse(kNcclSystemError, "a rank does not come");
      break;
    }
    const int socket = accept(door, nullptr, nullptr);
    int other = -1;
    if (!greet(socket, other)) is_met = false;
    if (other >= 0 && other < size_) sockets_[static_cast<std::size_t>(other)] = socket;
  }
  close(door);
  return is_met;
}

bool NcclLinks::connect_to(const std::string& name, int other) {
  const auto [address, length] = address_of(name, other);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  const Clock::time_point end = Clock::now() + kLimit;
  while (connect(socket, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    if (Clock::now() > end) {
      close(socket);
      return refuse(kNcclSystemError, "rank " + std::to_string(other) + " does not come");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  sockets_[static_cast<std::size_t>(other)] = socket;
  return greet(socket, other);
}

// Both sides say who they are, and see the same.
bool NcclLinks::greet(int socket, int& other) {
  const Greeting mine{rank_, size_, card_};
  Greeting theirs{};
  if (!send_all(socket, &mine, sizeof mine) || !receive_all(socket, &theirs, sizeof theirs))
    return refuse(kNcclRemoteError, "a rank is gone");
  other = theirs.rank;
  if (theirs.size != size_)
    return refuse(kNcclInvalidArgument, "ranks " + std::to_string(rank_) + " and " + std::to_string(other) +
                                            " say different numbers of ranks");
  if (theirs.card == card_)
    return refuse(kNcclInvalidUsage, "Duplicate GPU detected: rank " + std::to_string(rank_) + " and rank " +
                                         std::to_string(other) + " both on CUDA device " +
                                         std::to_string(card_));
  return true;
}

// As far as it goes without waiting.
std::string NcclLinks::advance(Progress& progress) {
  while (!progress.is_done()) {
    const auto [data, bytes] = progress.next();
    const ssize_t moved = progress.transfer.is_sent
                              ? send(progress.socket, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT)
                              : recv(progress.socket, data, bytes, MSG_DONTWAIT);
    if (moved > 0) {
      progress.done += static_cast<std::size_t>(moved);
      if (!progress.transfer.is_sent && progress.done == sizeof progress.size &&
          progress.size != progress.transfer.bytes)
        return "rank " + std::to_string(rank_) + " receives " + std::to_string(progress.transfer.bytes) +
               " bytes from rank " + std::to_string(progress.transfer.rank) + ", which sends " +
               std::to_string(progress.size);
      continue;
    }
    if (moved == 0 || (errno != EAGAIN && errno != EINTR)) error_ = kNcclRemoteError;
    break;
  }
  return "";
}

std::string NcclLinks::exchange(const std::vector<NcclTransfer>& transfers) {
  std::vector<Progress> all;
  for (const NcclTransfer& each : transfers) {
    const bool is_own_receive = !each.is_sent && each.rank == rank_;
    all.push_back(
        {each, is_own_receive ? own_end_ : sockets_[static_cast<std::size_t>(each.rank)], each.bytes});
  }
  while (!is_aborted_ && !std::ranges::all_of(all, &Progress::is_done)) {
    std::vector<pollfd> waits;
    for (std::size_t i = 0; i < all.size(); ++i) {
      Progress& each = all[i];
      const auto is_before = [&](const Progress& other) {
        return !other.is_done() && other.transfer.rank == each.transfer.rank &&
               other.transfer.is_sent == each.transfer.is_sent;
      };
      if (each.is_done() || std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), is_before))
        continue;
      if (std::string wrong = advance(each); !wrong.empty()) return wrong;
      if (!each.is_done())
        waits.push_back({each.socket, static_cast<short>(each.transfer.is_sent ? POLLOUT : POLLIN), 0});
    }
    if (error_ != kNcclSuccess) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else if (!waits.empty()) {
      poll(waits.data(), waits.size(), kNap);
    }
  }
  return "";
}

}  // namespace kiln::fake
