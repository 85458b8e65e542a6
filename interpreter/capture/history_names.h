// Owns the names (`grad_fn`) of histories after a compiled call: those of the recorded call, whatever ops the
// compiled graph has.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace kiln::interp::capture {

class HistoryNames {
 public:
  // Notes the names of these tensors' histories in the recorded call, as far as they are newer than `since`.
  void note(Inputs tensors, std::uint64_t since);
  // Finds which results of the graph the noted tensors are, or which of its written arguments. Then releases
  // the tensors.
  void settle(Inputs outputs, Inputs arguments);

  bool empty() const { return names_.empty(); }
  // Gives the results and arguments of another call the noted names.
  void give(Inputs outputs, Inputs arguments, std::uint64_t since) const;

 private:
  struct RecordedName {
    Tensor recorded;
    std::shared_ptr<const std::string> name;
    bool is_argument = false;
    std::size_t index = 0;
  };
  std::vector<RecordedName> names_;
};

}  // namespace kiln::interp::capture
