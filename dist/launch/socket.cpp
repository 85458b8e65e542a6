#include "dist/launch/socket.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace kiln::dist {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses resolve(const std::string& host, const std::string& port, int flags, int type = SOCK_STREAM) {
  addrinfo hints{};
  hints.ai_socktype = type;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0)
    throw std::runtime_error("there is no host `" + host + "`: " + gai_strerror(error));
  return Addresses(found);
}

sockaddr_storage own_name(const Descriptor& socket) {
  sockaddr_storage name{};
  socklen_t length = sizeof(name);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &length) != 0)
    throw std::runtime_error(std::string("a socket has no address: ") + std::strerror(errno));
  return name;
}

std::string named(const sockaddr_storage& name, int flags, bool port) {
  std::array<char, NI_MAXHOST> host{}, service{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&name), sizeof(name), host.data(), host.size(),
                  service.data(), service.size(), flags) != 0)
    throw std::runtime_error("an address cannot be written");
  return port ? service.data() : host.data();
}

// An error of the system as a number; 0 where the socket is connected within the limit.
int connect_within(int socket, const addrinfo& to, std::chrono::milliseconds limit) {
  if (connect(socket, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd ready{socket, POLLOUT, 0};
  if (poll(&ready, 1, static_cast<int>(limit.count())) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof(error);
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

// Of "host:port".
Addresses resolve_address(const std::string& address, int type) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos)
    throw std::runtime_error("`" + address + "` is no address of the form host:port");
  return resolve(address.substr(0, colon), address.substr(colon + 1), 0, type);
}

Descriptor connect_to(const std::string& address) {
  const Addresses addresses = resolve_address(address, SOCK_STREAM);
  Descriptor socket(::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int error = connect_within(socket.get(), *addresses, std::chrono::seconds(3));
  if (error != 0) throw std::runtime_error("cannot reach " + address + ": " + std::strerror(error));
  const int yes = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  fcntl(socket.get(), F_SETFL, fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
  return socket;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Descriptor listen_at(const std::string& host) {
  const Addresses addresses = resolve(host, "0", AI_PASSIVE);
  Descriptor socket(::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0 || bind(socket.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
      listen(socket.get(), SOMAXCONN) != 0)
    throw std::runtime_error("cannot listen at " + host + ": " + std::strerror(errno));
  return socket;
}

Descriptor bind_datagrams(const std::string& host) {
  const Addresses addresses = resolve(host, "0", AI_PASSIVE, SOCK_DGRAM);
  Descriptor socket(::socket(addresses->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0 || bind(socket.get(), addresses->ai_addr, addresses->ai_addrlen) != 0)
    throw std::runtime_error("no datagrams at " + host + ": " + std::strerror(errno));
  return socket;
}

SocketAddress datagram_address(const std::string& address) {
  const Addresses addresses = resolve_address(address, SOCK_DGRAM);
  SocketAddress found;
  std::memcpy(&found.name, addresses->ai_addr, addresses->ai_addrlen);
  found.length = addresses->ai_addrlen;
  return found;
}

int port_of(const Descriptor& socket) {
  return std::stoi(named(own_name(socket), NI_NUMERICSERV | NI_NUMERICHOST, true));
}

std::string own_address(const Descriptor& socket) {
  return named(own_name(socket), NI_NUMERICSERV | NI_NUMERICHOST, false);
}

std::vector<std::string> host_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  std::vector<std::string> addresses;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET || (at->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    sockaddr_storage name{};
    std::memcpy(&name, at->ifa_addr, sizeof(sockaddr_in));
    addresses.push_back(named(name, NI_NUMERICHOST, false));
  }
  freeifaddrs(list);
  return addresses;
}

Descriptor connect_to_any(const std::string& addresses) {
  std::string failures;
  for (std::size_t begin = 0; begin < addresses.size();) {
    const std::size_t comma = std::min(addresses.find(',', begin), addresses.size());
    const std::string address = addresses.substr(begin, comma - begin);
    begin = comma + 1;
    try {
      return connect_to(address);
    } catch (const std::runtime_error& error) {
      failures += (failures.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  throw std::runtime_error(failures.empty() ? "there is no address to connect to" : failures);
}

}  // namespace kiln::dist
