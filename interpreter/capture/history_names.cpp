#include "interpreter/capture/history_names.h"

#include <algorithm>

#include "tensor/autograd.h"
#include "tensor/tape/meta.h"

namespace kiln::interp::capture {

void HistoryNames::note(Inputs tensors, std::uint64_t since) {
  for (const Tensor& each : tensors) {
    const tape::Edge edge = tape::history(each);
    if (edge && edge.node->sequence >= since && !edge.node->is_leaf())
      names_.push_back({each, std::make_shared<const std::string>(grad_fn_name(each))});
  }
}

void HistoryNames::settle(Inputs outputs, Inputs arguments) {
  std::erase_if(names_, [&](RecordedName& each) {
    for (const bool is_argument : {false, true}) {
      const Inputs all = is_argument ? arguments : outputs;
      const auto found =
          std::find_if(all.begin(), all.end(), [&](const Tensor& x) { return x.is_same(each.recorded); });
      if (found == all.end()) continue;
      each = {Tensor(), each.name, is_argument, static_cast<std::size_t>(found - all.begin())};
      return false;
    }
    return true;
  });
}

void HistoryNames::give(Inputs outputs, Inputs arguments, std::uint64_t since) const {
  for (const RecordedName& each : names_)
    tape::show_history_as((each.is_argument ? arguments : outputs)[each.index], each.name, since);
}

}  // namespace kiln::interp::capture
