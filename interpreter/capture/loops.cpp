#include "interpreter/capture/loops.h"

#include <algorithm>

#include "interpreter/vm/registers.h"

namespace kiln::interp {
namespace capture {

Loops::Loops(const Code& code) : by_top_(code.instructions.size() + 1, -1) {
  for (std::size_t pc = 0; pc < code.instructions.size(); ++pc) {
    const std::int64_t jump = jump_of(code, pc);
    if (jump >= 0) continue;
    const auto top = static_cast<std::size_t>(static_cast<std::int64_t>(pc) + jump);
    if (by_top_[top] < 0) {
      by_top_[top] = static_cast<int>(all_.size());
      all_.push_back({top, pc + 1});
    } else {
      all_[static_cast<std::size_t>(by_top_[top])].end = pc + 1;
    }
  }
}

std::vector<Loop> Loops::around(std::size_t pc) const {
  std::vector<Loop> found;
  for (const Loop& each : all_) {
    if (each.contains(pc)) found.push_back(each);
  }
  std::sort(found.begin(), found.end(), [](const Loop& a, const Loop& b) { return a.top > b.top; });
  return found;
}

}  // namespace capture

const capture::Loops& Code::loops() const {
  if (!known_loops) known_loops = std::make_shared<const capture::Loops>(*this);
  return *known_loops;
}

}  // namespace kiln::interp
