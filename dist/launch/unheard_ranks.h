// Owns what ranks say of others that they no longer hear, and who must leave so that the rest reach each
// other.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace kiln::dist {

class UnheardRanks {
 public:
  using Clock = std::chrono::steady_clock;

  /// A rank hears none of `others`. An empty list takes back what it said before.
  void note(int rank, std::vector<int> others, Clock::time_point now);
  /// Forgets all, as an epoch begins.
  void clear();

  /// A rank that must leave, and one that it does not reach.
  struct Leaver {
    int rank;
    int unreached;
  };
  /// Who must leave, once the first report is older than `settle`, in which other reports arrive. It is
  /// always the rank that most others do not reach, and of several the last one. Ranks that are `silent` to
  /// the launcher count neither as heard nor as unheard: they are lost for that.
  std::vector<Leaver> leavers(Clock::time_point now, std::chrono::milliseconds settle,
                              const std::function<bool(int rank)>& silent) const;

 private:
  std::map<int, std::vector<int>> reports_;
  std::optional<Clock::time_point> first_;
};

}  // namespace kiln::dist
