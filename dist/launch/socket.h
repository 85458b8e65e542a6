// Owns sockets and other descriptors: that they are closed, and how one connects, listens and names
// addresses.
#pragma once

#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

namespace kiln::dist {

/// A descriptor that is closed with its owner; -1 stands for no descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  void close();

 private:
  int fd_ = -1;
};

/// A socket that listens at `host` on a port that the system chose. Throws std::runtime_error.
Descriptor listen_at(const std::string& host);
/// The port that a socket has here.
int port_of(const Descriptor& socket);
/// The address that a connection has on this side, such as "127.0.0.1".
std::string own_address(const Descriptor& socket);
/// The addresses of this host that others may reach, without that of the host for itself.
std::vector<std::string> host_addresses();
/// Where a datagram goes.
struct SocketAddress {
  sockaddr_storage name{};
  socklen_t length = 0;
};
/// A socket for datagrams at `host`, on a port that the system chose. Throws std::runtime_error.
Descriptor bind_datagrams(const std::string& host);
/// Of "host:port", as a number and a port. Throws std::runtime_error.
SocketAddress datagram_address(const std::string& address);
/// Connects to the first of "host:port,host:port,…" that answers within a few seconds. Throws
/// std::runtime_error, which says where to and why not.
Descriptor connect_to_any(const std::string& addresses);

}  // namespace kiln::dist
