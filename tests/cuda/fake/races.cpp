#include "tests/cuda/fake/races.h"

#include <algorithm>
#include <bit>

namespace kiln::fake {
namespace {

constexpr std::size_t kMuch = std::size_t{256} << 20;  // bytes that are not kept for the next launch

// The bits of the bytes from `begin` to before `end` that are in the word.
unsigned bytes_in(std::uint64_t word, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t first = std::max(begin, word * kWordBytes) % kWordBytes,
                      last = std::min(end - 1, word * kWordBytes + kWordBytes - 1) % kWordBytes;
  return ((2U << last) - 1) & ~((1U << first) - 1);
}

// Would a race with the first one also be one with the second?
bool is_covered(const Access& access, const Access& by) {
  return (access.bytes & ~by.bytes) == 0 && access.is_write <= by.is_write &&
         access.is_atomic >= by.is_atomic;
}

bool is_weaker(const Access& a, const Access& b) {
  return a.is_write != b.is_write ? a.is_write < b.is_write : a.stamp < b.stamp;
}

}  // namespace

// Of earlier launches nothing races with one.
void RaceDetector::begin_launch(unsigned threads) {
  if (clock_.is_late() || shadow_.bytes() > kMuch) shadow_.clear();
  if (clock_.is_late()) clock_.begin_anew();
  clock_.begin_launch(threads);
}

std::optional<Race> RaceDetector::note(unsigned thread, std::uint64_t address, std::size_t bytes,
                                       KilnFakeAccess kind, std::uint64_t code, bool is_own) {
  const std::uint64_t site = code % (std::uint64_t{1} << kSiteBits), end = address + bytes;
  code_of_[site] = code;
  if (kind == kFakeAtomic) clock_.order_atomic(thread, address);
  Access access{clock_.now(), thread, 0, kind != kFakeRead, kind == kFakeAtomic, site};
  for (std::uint64_t word = address / kWordBytes; word * kWordBytes < end; ++word) {
    access.bytes = bytes_in(word, address, end) & 15U;
    if (const Access* const before = note_word(*shadow_.at(word), access, is_own)) {
      const auto first =
          static_cast<unsigned>(std::countr_zero(static_cast<unsigned>(before->bytes & access.bytes)));
      return Race{static_cast<unsigned>(before->thread), clock_.is_of_block(before->stamp),
                  before->is_atomic != 0  ? kFakeAtomic
                  : before->is_write != 0 ? kFakeWrite
                                          : kFakeRead,
                  code_of_[before->site], word * kWordBytes + first};
    }
  }
  return std::nullopt;
}

bool RaceDetector::conflicts(const Access& before, const Access& access) const {
  return (before.bytes & access.bytes) != 0 && (before.is_write | access.is_write) != 0 &&
         (before.is_atomic & access.is_atomic) == 0 &&
         !clock_.is_ordered(static_cast<Stamp>(before.stamp), static_cast<unsigned>(before.thread),
                            static_cast<unsigned>(access.thread));
}

// Puts the access where the one was that is missed least: one that can race with nothing more, else the
// earliest read, else the earliest write.
const Access* RaceDetector::note_word(WordShadow& word, const Access& access, bool is_own) {
  Access* place = nullptr;
  bool is_needed = true;
  for (Access& before : word) {
    const auto stamp = static_cast<Stamp>(before.stamp);
    const bool is_of_block = clock_.is_of_block(stamp);
    if (is_own ? !is_of_block : !clock_.is_of_launch(stamp)) {
      before = Access{};
      if (place == nullptr || place->stamp != 0) place = &before;
      continue;
    }
    if (conflicts(before, access)) return &before;
    const bool is_mine = before.thread == access.thread && is_of_block;
    if (is_mine && before.stamp == access.stamp && is_covered(access, before)) {
      is_needed = false;
    } else if (is_mine && is_covered(before, access)) {
      before = Access{};
    }
    if (place == nullptr || (place->stamp != 0 && is_weaker(before, *place))) place = &before;
  }
  if (is_needed) *place = access;
  return nullptr;
}

}  // namespace kiln::fake
