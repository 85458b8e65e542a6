// Owns what is noted of each word of memory: the last accesses to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>

#include "tests/cuda/fake/sync_clock.h"

namespace kiln::fake {

inline constexpr unsigned kWordBytes = 4;
inline constexpr unsigned kSiteBits = 18;

// An access to bytes of a word. One that never was has the stamp 0.
struct Access {
  std::uint64_t stamp : 30;
  std::uint64_t thread : 10;
  std::uint64_t bytes : 4;  // a bit for each that it touches
  std::uint64_t is_write : 1;
  std::uint64_t is_atomic : 1;
  std::uint64_t site : kSiteBits;  // the instruction
};
static_assert(sizeof(Access) == 8);

using WordShadow = std::array<Access, 4>;

// Words are addresses divided by the bytes of one. Memory is taken where it is asked for.
class Shadow {
 public:
  WordShadow* at(std::uint64_t word) {
    Cached& cached = cache_[word / kPart % kCached];
    if (cached.part != word / kPart || cached.words == nullptr) cached = {word / kPart, find(word / kPart)};
    return cached.words + word % kPart;
  }
  std::size_t bytes() const { return parts_.size() * kPart * sizeof(WordShadow); }
  void clear() {
    cache_ = {};
    parts_.clear();
  }

 private:
  static constexpr std::uint64_t kPart = 1 << 14;  // words
  static constexpr std::size_t kCached = 256;
  struct Free {
    void operator()(WordShadow* words) const { std::free(words); }
  };
  struct Cached {
    std::uint64_t part = 0;
    WordShadow* words = nullptr;
  };

  // From the system, which gives pages of zeros when they are first touched.
  WordShadow* find(std::uint64_t part) {
    auto& place = parts_[part];
    if (place == nullptr) place.reset(static_cast<WordShadow*>(std::calloc(kPart, sizeof(WordShadow))));
    return place.get();
  }

  std::array<Cached, kCached> cache_{};
  std::unordered_map<std::uint64_t, std::unique_ptr<WordShadow, Free>> parts_;
};

}  // namespace kiln::fake
