#include "jit/cuda/nest_words.h"

#include <algorithm>
#include <span>

#include "jit/cuda/arguments.h"
#include "jit/cuda/gather.h"

namespace kiln::jit {

std::size_t first_index_of(const LoopNest& nest, std::size_t load) {
  std::size_t first = nest.loads.size() + nest.stores.size();
  for (const Load& each : std::span(nest.loads).first(load))
    first += each.gather ? indices_of(each).size() : 0;
  return first;
}
std::size_t operands_of(const LoopNest& nest) {
  return std::max<std::size_t>(1, first_index_of(nest, nest.loads.size()));
}

std::size_t slots_of(const LoopNest& nest) {
  int most = -1;
  for (const Instruction& each : nest.body)
    if (each.kind == Instruction::Kind::Reduced) most = std::max(most, each.index);
  return static_cast<std::size_t>(most + 1);
}

std::size_t first_slot_of(const LoopNest& nest) {
  return operands_of(nest) + nest.reductions.size() + nest.columns.size();
}
std::size_t results_of(const LoopNest& nest) {
  return nest.reductions.size() + nest.columns.size() + slots_of(nest);
}

std::size_t first_word_of(const LoopNest& nest, std::size_t load) {
  std::size_t first = nest.numbers.size();
  for (const Load& each : std::span(nest.loads).first(load)) {
    if (each.drawn != nullptr) first += kDrawWords;
    if (each.gather != nullptr) first += kIndexWords * indices_of(each).size();
  }
  return first;
}
std::size_t numbers_of(const LoopNest& nest) { return first_word_of(nest, nest.loads.size()); }

std::vector<std::size_t> refusing(const LoopNest& nest) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < nest.body.size(); ++i) {
    const Instruction& each = nest.body[i];
    const bool reads = each.kind == Instruction::Kind::Read;
    if (each.failure >= 0 || (reads && nest.loads[static_cast<std::size_t>(each.index)].gather != nullptr))
      all.push_back(i);
  }
  return all;
}

std::size_t argument_words(const LoopNest& nest) {
  const std::size_t axes = 1 + kMostAxes + operands_of(nest) * kMostAxes;
  return 3 + 2 * axes + operands_of(nest) + results_of(nest) + numbers_of(nest) + 3;
}

}  // namespace kiln::jit
