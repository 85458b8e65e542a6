// Ranks that are threads do what every transport does.
#include <array>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/dist/ranks.h"
#include "tests/dist/transport_cases.h"

namespace kiln::thread_transport_test {

using kiln::testing::on_ranks;

TEST_CASE("ranks that are threads exchange messages", "[transport]") {
  for (const testing::TransportCase& test : testing::transport_cases()) {
    for (const int n : {1, 2, 3, 5}) {
      INFO(test.name << ", " << n << " ranks");
      CHECK_NOTHROW(on_ranks(n, test.body));
    }
  }
}

TEST_CASE("an interrupt ends the waits of a rank", "[transport]") {
  auto ranks = dist::make_thread_transports(2);
  std::array<std::byte, 1> byte{};
  const auto request = ranks[0]->receive(1, 7, byte);
  std::thread other([&] { ranks[0]->interrupt(); });
  CHECK_THROWS_AS(request->wait(), dist::Stopped);
  other.join();
  CHECK_THROWS_AS(ranks[0]->wait_any({}, std::chrono::milliseconds(0)), dist::Stopped);
}

TEST_CASE("who waits hears of lost ranks", "[transport]") {
  auto ranks = dist::make_thread_transports(3);
  std::array<std::byte, 1> byte{};
  const auto request = ranks[0]->receive(1, 7, byte);
  std::thread other([&] { ranks[0]->lose({1, 2}, "ranks 1 and 2 gave no sign for 10 s"); });
  try {
    request->wait();
    FAIL("the wait ended");
  } catch (const dist::PeerLost& lost) {
    CHECK(lost.ranks == std::vector<int>{1, 2});
    CHECK(std::string(lost.what()) == "ranks 1 and 2 gave no sign for 10 s");
  }
  other.join();
}

TEST_CASE("a closed link ends the waits for that peer alone", "[transport]") {
  auto ranks = dist::make_thread_transports(3);
  std::array<std::byte, 1> byte{}, other{};
  const auto from_one = ranks[0]->receive(1, 7, byte);
  const auto from_two = ranks[0]->receive(2, 7, other);
  ranks[1].reset();
  CHECK_THROWS_AS(from_one->wait(), dist::PeerLost);
  const std::array<std::byte, 1> sent{std::byte{5}};
  const auto send = ranks[2]->send(0, 7, sent);
  CHECK(from_two->wait(std::chrono::seconds(5)));
  CHECK(other == sent);
}

}  // namespace kiln::thread_transport_test
