#include "dist/transport/shm_peer.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace kiln::dist {
namespace {

void check_size(const ShmTransfer& transfer, const ShmHead& head) {
  if (transfer.bytes.size() == head.size) return;
  throw std::logic_error("a message of " + std::to_string(head.size) + " bytes met a receive of " +
                         std::to_string(transfer.bytes.size()));
}

void finish(ShmTransfer& transfer, const ShmHead& head, std::span<const std::byte> bytes) {
  check_size(transfer, head);
  std::ranges::copy(bytes, transfer.bytes.begin());
  transfer.is_done = true;
}

}  // namespace

void ShmPeer::receive(ShmTransfer& transfer) {
  const auto here = std::ranges::find_if(early_, [&](const Unexpected& message) {
    return message.head.tag == transfer.head.tag && &message != unfinished();
  });
  if (here == early_.end()) return receives_.push_back(&transfer);
  finish(transfer, here->head, here->bytes);
  early_.erase(here);
}

void ShmPeer::forget(ShmTransfer& transfer) {
  // The rest of a message that was begun would be taken for the next one.
  if (transfer.headed > 0) is_cut_ = true;
  std::erase(sends_, &transfer);
  std::erase(receives_, &transfer);
  if (arriving_ != &transfer) return;
  arriving_ = nullptr;
  early_.push_back({head_, std::vector<std::byte>(head_.size)});
}

bool ShmPeer::move() {
  const bool wrote = write(), was_read = read();
  return wrote || was_read;
}

bool ShmPeer::write() {
  bool moved = false;
  while (!sends_.empty() && !is_cut_) {
    ShmTransfer& transfer = *sends_.front();
    const auto head = std::as_bytes(std::span(&transfer.head, 1));
    const std::size_t of_head = out_.write(head.subspan(transfer.headed));
    transfer.headed += of_head;
    const std::size_t of_bytes =
        transfer.headed == sizeof(ShmHead) ? out_.write(transfer.bytes.subspan(transfer.moved)) : 0;
    transfer.moved += of_bytes;
    moved = moved || of_head + of_bytes > 0;
    if (transfer.headed < sizeof(ShmHead) || transfer.moved < transfer.bytes.size()) break;
    transfer.is_done = true;
    sends_.pop_front();
  }
  return moved;
}

bool ShmPeer::read() {
  bool moved = false;
  for (;;) {
    if (!is_inside_ && !begin_message()) return moved;
    const std::span<std::byte> rest = arriving_ != nullptr ? arriving_->bytes.subspan(arrived_)
                                                           : std::span(early_.back().bytes).subspan(arrived_);
    const std::size_t count = in_.read(rest);
    arrived_ += count;
    moved = true;
    if (arrived_ < head_.size) return moved;
    is_inside_ = false;
    end_message();
  }
}

// Reads the head of the next message, where it is whole, and finds where its bytes go.
bool ShmPeer::begin_message() {
  if (in_.readable() < sizeof(ShmHead)) return false;
  in_.read(std::as_writable_bytes(std::span(&head_, 1)));
  is_inside_ = true;
  arrived_ = 0;
  const auto asked =
      std::ranges::find_if(receives_, [&](const ShmTransfer* each) { return each->head.tag == head_.tag; });
  if (asked == receives_.end()) {
    arriving_ = nullptr;
    early_.push_back({head_, std::vector<std::byte>(head_.size)});
  } else {
    arriving_ = *asked;
    receives_.erase(asked);
    check_size(*arriving_, head_);
  }
  return true;
}

// What was asked for while it arrived is given now.
void ShmPeer::end_message() {
  if (arriving_ != nullptr) {
    std::exchange(arriving_, nullptr)->is_done = true;
    return;
  }
  const auto asked =
      std::ranges::find_if(receives_, [&](const ShmTransfer* each) { return each->head.tag == head_.tag; });
  if (asked == receives_.end()) return;
  finish(**asked, head_, early_.back().bytes);
  receives_.erase(asked);
  early_.pop_back();
}

}  // namespace kiln::dist
