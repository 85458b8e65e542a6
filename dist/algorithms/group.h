// Owns the ranks that take part in a collective, and the parts that its elements are cut into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dist/algorithms/memory.h"
#include "dist/transport/transport.h"

namespace kiln::dist {

/// The members of a collective, in the order in which their values are reduced. All members call the same
/// algorithm with the same `ranks` and `tag`. One tag is enough for any number of collectives that all
/// members run in one order.
struct Group {
  Transport& transport;
  std::vector<int> ranks;  // ranks of the transport, ascending
  std::size_t me;          // where this rank stands in `ranks`
  std::uint64_t tag;
  Memory* memory = &host_memory();  // where the elements are; its places are those that the transport knows

  std::size_t size() const { return ranks.size(); }
  std::unique_ptr<Transport::Request> send(std::size_t member, std::span<const std::byte> bytes) const {
    return transport.send(ranks[member], tag, bytes);
  }
  std::unique_ptr<Transport::Request> receive(std::size_t member, std::span<std::byte> bytes) const {
    return transport.receive(ranks[member], tag, bytes);
  }
};

/// Elements [begin, end).
struct Range {
  std::size_t begin = 0, end = 0;
  std::size_t count() const { return end - begin; }
};

/// Cuts `count` rows among n members: the first `count mod n` get one more.
std::vector<Range> cut_evenly(std::size_t count, std::size_t n);

/// Requests that have begun, in the order in which they began.
class Requests {
 public:
  void add(std::unique_ptr<Transport::Request> request) { requests_.push_back(std::move(request)); }
  void wait() {
    for (const auto& request : requests_) request->wait();
    requests_.clear();
  }

 private:
  std::vector<std::unique_ptr<Transport::Request>> requests_;
};

}  // namespace kiln::dist
