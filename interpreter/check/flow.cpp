#include "interpreter/check/flow.h"

#include <bit>

#include "interpreter/vm/registers.h"

namespace kiln::interp::check {
namespace {

std::vector<std::size_t> successors(const Code& code, std::size_t pc) {
  const Opcode op = code.opcode_at(pc);
  if (op == Opcode::Return || op == Opcode::ReturnNone) return {code.instructions.size()};
  std::vector<std::size_t> next;
  if (capture::goes_on(op)) next.push_back(pc + 1);
  if (const std::int64_t jump = capture::jump_of(code, pc); jump != 0)
    next.push_back(static_cast<std::size_t>(static_cast<std::int64_t>(pc) + jump));
  return next;
}

bool has(const std::vector<std::uint64_t>& places, std::size_t pc) { return places[pc / 64] >> pc % 64 & 1U; }

}  // namespace

// Post-dominators: from "everything is passed" down, until nothing changes.
Flow::Flow(const Code& code)
    : end_(code.instructions.size()),
      passed_(end_ + 1, Places(end_ / 64 + 1, ~std::uint64_t{0})),
      count_(end_ + 1) {
  passed_[end_].assign(end_ / 64 + 1, 0);
  passed_[end_][end_ / 64] |= std::uint64_t{1} << end_ % 64;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t pc = end_; pc-- > 0;) changed = update(code, pc) || changed;
  }
  for (std::size_t pc = 0; pc <= end_; ++pc) {
    for (const std::uint64_t word : passed_[pc]) count_[pc] += static_cast<std::size_t>(std::popcount(word));
  }
}

bool Flow::update(const Code& code, std::size_t pc) {
  Places now(end_ / 64 + 1, ~std::uint64_t{0});
  for (const std::size_t next : successors(code, pc)) {
    for (std::size_t k = 0; k < now.size(); ++k) now[k] &= passed_[next][k];
  }
  now[pc / 64] |= std::uint64_t{1} << pc % 64;
  if (now == passed_[pc]) return false;
  passed_[pc] = std::move(now);
  return true;
}

std::size_t Flow::meeting(std::size_t a, std::size_t b) const {
  std::size_t nearest = end_;
  for (std::size_t k = 0; k < end_; ++k) {
    // Of a place that never comes to the end all are passed.
    const bool ends = count_[k] <= end_;
    const bool is_nearer = nearest == end_ || count_[k] > count_[nearest];
    if (ends && is_nearer && has(passed_[a], k) && has(passed_[b], k)) nearest = k;
  }
  return nearest;
}

}  // namespace kiln::interp::check
