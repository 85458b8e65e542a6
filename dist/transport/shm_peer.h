// Owns the messages between one rank and another of the same host, which cross two rings of shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <span>
#include <vector>

#include "dist/transport/shared_memory.h"

namespace kiln::dist {

/// What stands in a ring before the bytes of a message.
struct ShmHead {
  std::uint64_t tag;
  std::uint64_t size;
};

/// Bytes on their way, one side of them.
struct ShmTransfer {
  ShmHead head;
  std::span<std::byte> bytes;
  std::size_t moved = 0;   // of the bytes
  std::size_t headed = 0;  // of the head
  bool is_done = false;
};

/// What one rank and another have to do with each other. Transfers belong to who began them, and stay where
/// they are until they are done or forgotten.
class ShmPeer {
 public:
  ShmPeer(SharedRing& out, SharedRing& in) : out_(out), in_(in) {}

  void send(ShmTransfer& transfer) { sends_.push_back(&transfer); }
  /// Throws std::logic_error where a message with this tag has another length.
  void receive(ShmTransfer& transfer);
  /// Takes back a transfer that is not done. What arrives for it later is dropped.
  void forget(ShmTransfer& transfer);
  /// Writes and reads what can be. True when anything moved.
  bool move();
  bool has_arrived() const { return in_.readable() > 0; }

 private:
  // A message that came before it was asked for.
  struct Unexpected {
    ShmHead head;
    std::vector<std::byte> bytes;
  };

  bool write();
  bool read();
  bool begin_message();
  void end_message();
  const Unexpected* unfinished() const {
    return is_inside_ && arriving_ == nullptr ? &early_.back() : nullptr;
  }

  SharedRing& out_;
  SharedRing& in_;
  std::deque<ShmTransfer*> sends_, receives_;  // that have begun, in their order
  std::list<Unexpected> early_;                // the last may be unfinished
  bool is_cut_ = false;                        // nothing more can be sent
  bool is_inside_ = false;                     // a message, whose head is `head_`
  ShmHead head_{};
  ShmTransfer* arriving_ = nullptr;  // where its bytes go; null: to the last of `early_`
  std::size_t arrived_ = 0;
};

}  // namespace kiln::dist
