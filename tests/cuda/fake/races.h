// Owns finding races: two accesses of a launch to the same bytes by different threads, of which one writes
// and not both are atomic, and which nothing orders.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/cuda/fake/shadow.h"
#include "tests/cuda/fake/shim/abi.h"
#include "tests/cuda/fake/sync_clock.h"

namespace kiln::fake {

// The access before, with which one races.
struct Race {
  unsigned thread = 0;
  bool is_of_block = true;
  KilnFakeAccess kind = kFakeRead;
  std::uint64_t code = 0;
  std::uint64_t address = 0;  // of the first byte that both touch
};

class RaceDetector {
 public:
  void begin_launch(unsigned threads);
  SyncClock& clock() { return clock_; }

  // Notes an access; gives the race that it completes. Memory that is each block's own is another one in
  // each.
  std::optional<Race> note(unsigned thread, std::uint64_t address, std::size_t bytes, KilnFakeAccess kind,
                           std::uint64_t code, bool is_own);

 private:
  const Access* note_word(WordShadow& word, const Access& access, bool is_own);
  bool conflicts(const Access& before, const Access& access) const;

  SyncClock clock_;
  Shadow shadow_;
  std::vector<std::uint64_t> code_of_ = std::vector<std::uint64_t>(std::size_t{1} << kSiteBits);  // by site
};

}  // namespace kiln::fake
