#include "jit/cpu/prefetch_rows.h"

#include <algorithm>
#include <map>

namespace kiln::jit {

void prefetch_rows(ScheduledKernel& kernel) {
  struct Reader {
    std::size_t pass, load;
  };
  const std::span<const LoopNest> passes = kernel.lowered.row_passes();
  std::map<int, std::vector<Reader>> readers;  // by input
  std::vector<std::int64_t> work, fetched(passes.size(), 0);
  for (std::size_t p = 0; p < passes.size(); ++p) {
    work.push_back(cost_of(passes[p]));
    for (std::size_t k = 0; k < passes[p].loads.size(); ++k) {
      const Load& each = passes[p].loads[k];
      const bool broadcasts = !each.steps.empty() && each.steps.back().view == nullptr;
      if (each.input >= 0 && !each.invariant && !broadcasts) readers[each.input].push_back({p, k});
    }
  }
  for (const auto& [input, loads] : readers) {
    const auto waits_less = [&](const Reader& a, const Reader& b) {
      return (fetched[a.pass] + 1) * work[b.pass] < (fetched[b.pass] + 1) * work[a.pass];
    };
    const Reader& reader = *std::min_element(loads.begin(), loads.end(), waits_less);
    ++fetched[reader.pass];
    kernel.schedule.nests[reader.pass].loads[reader.load].ahead = true;
  }
  for (std::size_t p = 0; p < passes.size(); ++p) {
    for (std::size_t k = 0; k < passes[p].stores.size(); ++k) {
      const Store& each = passes[p].stores[k];
      kernel.schedule.nests[p].stores[k].ahead = each.output >= 0 && !each.per_row && each.around.empty();
    }
  }
}

}  // namespace kiln::jit
