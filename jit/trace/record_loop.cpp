// Ops that one graph has for itself, as its loops are, noted when they have run.
#include <algorithm>

#include "jit/trace/record.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/record.h"

namespace kiln::jit {

std::string Recorder::own_name(std::string_view name) const {
  const auto is_taken = [this](const std::string& wanted) {
    return std::any_of(own_ops_.begin(), own_ops_.end(),
                       [&wanted](const std::shared_ptr<const Op>& each) { return each->name() == wanted; });
  };
  std::string found(name);
  for (int number = 1; is_taken(found); ++number) found = std::string(name) + "_" + std::to_string(number);
  return found;
}

void Recorder::note_own(std::shared_ptr<const Op> op, Inputs operands, Inputs results) {
  const Op& own = *own_ops_.emplace_back(std::move(op));
  const Attrs attrs(own);
  in_checkpoint_ = checkpoint() != nullptr;
  Node node = node_of(own, Form::Plain, operands, attrs);
  const SmallVector<Tensor, 4> given(operands.begin(), operands.end());
  std::vector<TensorType> types;
  for (const Tensor& each : given) types.push_back(each.type());
  const SizeScope::Reason reason(own.name());
  types = own.infer(types, attrs);
  for (std::size_t k = 0; k < results.size(); ++k) give_sizes(results[k], types[k].sizes);
  note(std::move(node), results);
  if (!tape::sees(results)) return;
  remember_all(operands);
  remember_all(results);
  for (const Tensor& each : results) {
    if (const tape::Edge edge = tape::history(each))
      made_by_.try_emplace(edge.node.get(), ids_.at(each.impl()));
  }
}

}  // namespace kiln::jit
