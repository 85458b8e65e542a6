#include "jit/cuda/refusals.h"

#include <utility>

#include "jit/cuda/gather.h"
#include "jit/cuda/nest_words.h"
#include "jit/shape_rules.h"

namespace kiln::jit {

std::shared_ptr<const Refusals> refusals_of(const LoopNest& nest) {
  Refusals all;
  for (const std::size_t i : refusing(nest)) {
    const Instruction& each = nest.body[i];
    Refusal& made = all.emplace_back();
    made.message = each.message;
    if (each.kind != Instruction::Kind::Read) continue;
    made.load = static_cast<std::size_t>(each.index);
    made.gather = nest.loads[made.load].gather;
    made.attrs = evaluate(*made.gather, nest.loads[made.load].attrs, {});
  }
  return std::make_shared<const Refusals>(std::move(all));
}

OpError refused(const Refusal& refusal, const std::map<std::size_t, Tensors>& gathers) {
  return refusal.gather == nullptr ? OpError(ErrorKind::Value, refusal.message, {1})
                                   : refused_gather(*refusal.gather, refusal.attrs, gathers.at(refusal.load));
}

}  // namespace kiln::jit
