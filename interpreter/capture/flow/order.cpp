// The order in which the instructions of a function are read, and which of them are jumped to.
#include "interpreter/capture/flow/reader.h"
#include "interpreter/vm/registers.h"

namespace kiln::interp::capture {

const std::vector<bool>& FlowReader::targets(const Code& code) {
  const auto [known, is_new] = targets_.try_emplace(&code, code.instructions.size() + 1, false);
  if (is_new) {
    for (std::size_t pc = 0; pc < code.instructions.size(); ++pc) {
      const std::int64_t jump = jump_of(code, pc);
      if (jump != 0) known->second[static_cast<std::size_t>(static_cast<std::int64_t>(pc) + jump)] = true;
    }
  }
  return known->second;
}

// In this order an instruction comes behind all that lead to it, but for those that jump back.
const std::vector<std::size_t>& FlowReader::ranks(const Code& code, std::size_t first) {
  const auto [known, is_new] = ranks_.try_emplace(&code, code.instructions.size() + 1, std::size_t{0});
  if (!is_new) return known->second;
  struct Open {
    std::size_t pc;
    int ways = 0;
  };
  std::vector<bool> seen(code.instructions.size() + 1, false);
  std::vector<Open> open{{first}};
  seen[first] = true;
  std::size_t rank = code.instructions.size() + 1;
  while (!open.empty()) {
    Open& now = open.back();
    if (now.pc >= code.instructions.size() || now.ways == 2) {
      known->second[now.pc] = --rank;
      open.pop_back();
      continue;
    }
    const std::int64_t jump = jump_of(code, now.pc);
    const bool follows = now.ways++ == 0;
    std::size_t next = now.pc;
    if (follows && goes_on(code.opcode_at(now.pc))) next = now.pc + 1;
    if (!follows && jump != 0) next = static_cast<std::size_t>(static_cast<std::int64_t>(now.pc) + jump);
    if (seen[next]) continue;
    seen[next] = true;
    open.push_back({next});
  }
  return known->second;
}

std::vector<std::size_t> FlowReader::rank_of(const FlowState& state) {
  std::vector<std::size_t> rank;
  for (const FlowFrame& each : state.frames)
    rank.push_back(ranks(*each.code, rank.empty() ? loop_.top : 0)[each.pc]);
  return rank;
}

}  // namespace kiln::interp::capture
