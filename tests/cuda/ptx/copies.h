// Owns copies to shared memory that go on while a thread computes, for the C++ that translate.py makes of
// PTX. They are made when the thread waits for them, which is as late as they may come on a card.
#pragma once

#include "tests/cuda/ptx/runtime.h"

// Those of one thread, in groups.
class Copies {
 public:
  void begin(u64 to, u64 from, u32 bytes) {
    require_aligned(to, 16);
    require_aligned(from, 16);
    if (count_ == kMost) __builtin_trap();
    all_[count_++] = {to, from, bytes, groups_};
  }
  void end_group() { ++groups_; }
  // Until so many groups at most are not done.
  void wait(u32 left) {
    unsigned kept = 0;
    for (unsigned k = 0; k < count_; ++k) {
      if (all_[k].group + left < groups_) {
        make(all_[k]);
      } else {
        all_[kept++] = all_[k];
      }
    }
    count_ = kept;
  }

 private:
  struct Copy {
    u64 to, from;
    u32 bytes, group;
  };
  static constexpr unsigned kMost = 512;

  static void make(const Copy& copy) {
    u64 words[2] = {};
    __builtin_memcpy(words, reinterpret_cast<const void*>(copy.from), copy.bytes);
    __builtin_memcpy(reinterpret_cast<void*>(copy.to), words, sizeof words);
  }

  Copy all_[kMost];
  unsigned count_ = 0, groups_ = 0;
};
