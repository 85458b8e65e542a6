// Links the room of ranks alone: bytes between two ranks without ops or a language.
#include <array>

#include "dist/transport/transport.h"

int main() {
  const auto ranks = kiln::dist::make_thread_transports(2);
  const std::array<std::byte, 1> sent{std::byte{7}};
  std::array<std::byte, 1> received{};
  const auto request = ranks[0]->send(1, 1, sent);
  ranks[1]->receive(0, 1, received)->wait();
  request->wait();
  return received == sent ? 0 : 1;
}
