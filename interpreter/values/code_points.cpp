#include "interpreter/values/code_points.h"

#include <cstring>

#include <algorithm>

#include "interpreter/values/utf8.h"
#include "tensor/interrupt.h"

namespace kiln::interp {

void CodePoints::read(std::string_view text) {
  while (bytes_ < text.size()) {
    check_interrupt();
    if (points_ % kRun == 0) starts_.push_back(bytes_);
    bytes_ += code_point_bytes(text, bytes_);
    ++points_;
  }
}

std::size_t CodePoints::count(std::string_view text) {
  read(text);
  return points_;
}

std::size_t CodePoints::byte_of(std::string_view text, std::size_t index) {
  read(text);
  if (index >= points_) return text.size();
  std::size_t at = starts_[index / kRun];
  for (std::size_t left = index % kRun; left > 0; --left) at += code_point_bytes(text, at);
  return at;
}

std::size_t CodePoints::index_of(std::string_view text, std::size_t byte) {
  read(text);
  if (byte >= text.size()) return points_;
  const auto run = std::upper_bound(starts_.begin(), starts_.end(), byte) - starts_.begin() - 1;
  std::size_t index = static_cast<std::size_t>(run) * kRun;
  for (std::size_t at = starts_[static_cast<std::size_t>(run)]; at < byte; ++index)
    at += code_point_bytes(text, at);
  return index;
}

void CodePoints::expect_more(std::size_t bytes) {
  constexpr std::size_t kLongest = 4;  // of a code point
  while (!starts_.empty() && starts_.back() + kLongest > bytes) starts_.pop_back();
  bytes_ = points_ = 0;
  if (starts_.empty()) return;
  bytes_ = starts_.back();
  starts_.pop_back();
  points_ = starts_.size() * kRun;
}

std::size_t find_text(std::string_view text, std::string_view sub, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (sub.empty()) return from;
  // Pieces overlap by less than what is sought.
  for (std::size_t begin = from; begin + sub.size() <= text.size(); begin += kPieceOfBytes) {
    check_interrupt();
    const std::string_view piece = text.substr(begin, kPieceOfBytes + sub.size() - 1);
    const void* found = ::memmem(piece.data(), piece.size(), sub.data(), sub.size());
    if (found != nullptr) return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
  }
  return std::string_view::npos;
}

std::size_t find_last_text(std::string_view text, std::string_view sub) {
  if (sub.size() > text.size()) return std::string_view::npos;
  for (std::size_t last = text.size() - sub.size();;) {
    check_interrupt();
    const std::size_t first = last < kPieceOfBytes ? 0 : last - kPieceOfBytes + 1;
    const std::size_t found = text.substr(first, last - first + sub.size()).rfind(sub);
    if (found != std::string_view::npos) return first + found;
    if (first == 0) return std::string_view::npos;
    last = first - 1;
  }
}

}  // namespace kiln::interp
