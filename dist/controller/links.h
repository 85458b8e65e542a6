// Owns the control messages of a job: between rank 0 and each other rank, of any length.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dist/transport/transport.h"

namespace kiln::dist {

/// Of rank 0 the links to all others, of any other rank the link to rank 0. For the communication thread.
class Links {
 public:
  explicit Links(Transport& transport);
  ~Links();

  void send(int to, std::vector<std::byte> message);
  struct Message {
    int from;
    std::vector<std::byte> bytes;
  };
  /// The message that has arrived, if one has. Throws PeerLost.
  std::optional<Message> take();
  /// Sleeps until a message may have arrived, `Transport::wake` is called or the limit is over.
  void wait(std::chrono::milliseconds limit);
  /// Waits until all that was sent has left.
  void flush();

 private:
  struct Link;
  struct Sending;
  void expect(Link& link);
  void drop_sent();

  Transport& transport_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<std::unique_ptr<Sending>> sending_;
};

}  // namespace kiln::dist
