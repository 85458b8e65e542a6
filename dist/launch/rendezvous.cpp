#include "dist/launch/rendezvous.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace kiln::dist {
namespace {

using Clock = std::chrono::steady_clock;

std::string nanoseconds_text(Clock::time_point at) {
  return std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count());
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

struct Rendezvous::Connection {
  Descriptor socket;
  int rank = -1;  // until it has said hello
  MessageReader reader;
  std::string unsent;
  std::set<std::string> asked;  // keys that no rank has set yet
  Clock::time_point heard = Clock::now();
  bool said_goodbye = false;
};

std::chrono::milliseconds longest_silence() {
  static const std::chrono::milliseconds silence = [] {
    const char* const text = std::getenv("KILN_SILENCE_SECONDS");
    const double seconds = text == nullptr ? 0 : std::strtod(text, nullptr);
    return std::chrono::milliseconds(seconds > 0 ? static_cast<std::int64_t>(seconds * 1000) : 10000);
  }();
  return silence;
}

std::chrono::milliseconds beat_interval() {
  // Short, since a loss is seen up to two of them late: by the side that beats, and by the one that looks.
  return std::clamp(longest_silence() / 40, std::chrono::milliseconds(10), std::chrono::milliseconds(250));
}

std::string silence_text() {
  return fmt::format("gave no sign of life for {:g} s", double(longest_silence().count()) / 1000);
}

std::string hello_text(const Hello& hello) {
  return std::to_string(hello.rank) + " " + std::to_string(hello.epoch) + " " + hello.program;
}

Hello parse_hello(const std::string& text) {
  Hello hello;
  std::istringstream words(text);
  if (!(words >> hello.rank >> hello.epoch)) throw std::runtime_error("a rank said `" + text + "` of itself");
  words >> hello.program;
  return hello;
}

Rendezvous::Rendezvous(Poller& poller, const std::string& host, std::string secret, Callbacks callbacks)
    : poller_(poller),
      secret_(std::move(secret)),
      callbacks_(std::move(callbacks)),
      listener_(listen_at(host)) {
  poller_.add(listener_.get(), [this] { accept(); });
}

Rendezvous::~Rendezvous() {
  poller_.remove(listener_.get());
  for (const auto& connection : connections_) poller_.remove(connection->socket.get());
}

void Rendezvous::accept() {
  Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.get() < 0) return;
  const int yes = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  auto connection = std::make_unique<Connection>();
  connection->socket = std::move(socket);
  Connection& added = *connections_.emplace_back(std::move(connection));
  poller_.add(added.socket.get(), [this, &added] { read(added); });
}

void Rendezvous::read(Connection& connection) {
  std::array<char, 1 << 16> bytes;
  const ssize_t count = recv(connection.socket.get(), bytes.data(), bytes.size(), 0);
  if (count < 0 && would_block()) return;
  if (count <= 0) return close(connection);
  connection.reader.feed({bytes.data(), static_cast<std::size_t>(count)});
  connection.heard = Clock::now();
  const int fd = connection.socket.get();
  try {
    // What a message leads to may close the connection.
    while (poller_.watches(fd)) {
      const auto message = connection.reader.next();
      if (!message) return;
      handle(connection, *message);
    }
  } catch (const std::runtime_error&) {
    close(connection);
  }
}

void Rendezvous::close(Connection& connection) {
  const int rank = connection.rank;
  const bool is_lost = rank >= 0 && !connection.said_goodbye;
  poller_.remove(connection.socket.get());
  std::erase_if(connections_, [&](const auto& each) { return each.get() == &connection; });
  if (is_lost) callbacks_.disconnected(rank);
}

void Rendezvous::handle(Connection& connection, const Message& message) {
  if (message.kind == Message::Kind::Hello && message.key == secret_) {
    const Hello hello = parse_hello(message.value);
    connection.rank = hello.rank;
    return callbacks_.joined(hello);
  }
  if (connection.rank < 0) return close(connection);
  switch (message.kind) {
    case Message::Kind::Set:
      values_[message.key] = message.value;
      for (const auto& each : connections_)
        if (each->asked.erase(message.key) > 0)
          send(*each, {Message::Kind::Value, message.key, message.value});
      return;
    case Message::Kind::Get:
      if (const auto found = values_.find(message.key); found != values_.end())
        return send(connection, {Message::Kind::Value, message.key, found->second});
      connection.asked.insert(message.key);
      return;
    case Message::Kind::Beat:
      return;
    case Message::Kind::Unheard:
      return callbacks_.unheard(connection.rank, parse_numbers(message.value));
    case Message::Kind::ReadClock:
      return send(connection, {Message::Kind::ReadClock, message.key,
                               nanoseconds_text(Clock::now()) + " " + nanoseconds_text(began_)});
    case Message::Kind::Ready:
      return callbacks_.ready(connection.rank);
    case Message::Kind::Goodbye:
      connection.said_goodbye = true;
      return;
    default:
      return close(connection);
  }
}

void Rendezvous::send(Connection& connection, const Message& message) {
  connection.unsent += encode(message);
  flush(connection);
}

// A rank that reads nothing keeps its messages here, and makes no sender wait.
void Rendezvous::flush(Connection& connection) {
  std::string& unsent = connection.unsent;
  while (!unsent.empty()) {
    const ssize_t count = ::send(connection.socket.get(), unsent.data(), unsent.size(), MSG_NOSIGNAL);
    if (count < 0) break;
    unsent.erase(0, static_cast<std::size_t>(count));
  }
  if (unsent.empty()) return poller_.on_writable(connection.socket.get(), {});
  poller_.on_writable(connection.socket.get(), [this, &connection] { flush(connection); });
}

Rendezvous::Connection* Rendezvous::of_rank(int rank) const {
  const auto found = std::ranges::find_if(connections_, [&](const auto& each) { return each->rank == rank; });
  return found == connections_.end() ? nullptr : found->get();
}

void Rendezvous::tell(int rank, const Message& message) {
  if (Connection* const connection = of_rank(rank)) send(*connection, message);
}

void Rendezvous::tell_all(const Message& message) {
  for (const auto& connection : connections_)
    if (connection->rank >= 0) send(*connection, message);
}

std::optional<std::chrono::milliseconds> Rendezvous::silence_of(int rank) const {
  const Connection* const connection = of_rank(rank);
  if (connection == nullptr) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - connection->heard);
}

void Rendezvous::drop(int rank) {
  if (Connection* const connection = of_rank(rank)) {
    connection->said_goodbye = true;
    close(*connection);
  }
}

void Rendezvous::tick() {
  // A process that was stopped itself has heard no other meanwhile.
  if (Clock::now() - ticked_ > longest_silence() / 2)
    for (const auto& connection : connections_) connection->heard = Clock::now();
  ticked_ = Clock::now();
  tell_all({Message::Kind::Beat, {}, {}});
  std::vector<int> silent;
  for (const auto& connection : connections_)
    if (connection->rank >= 0 && Clock::now() - connection->heard > longest_silence())
      silent.push_back(connection->rank);
  for (const int rank : silent) callbacks_.silent(rank);
}

}  // namespace kiln::dist
