// Owns by what names the histories of tensors go after a compiled call: those of the recorded one, whatever
// ops the graph that runs is made of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace kiln::interp::capture {

class HistoryNames {
 public:
  // Of tensors in the recorded call, as they are now and as far as their history is from `since` on.
  void note(Inputs tensors, std::uint64_t since);
  // Which results of the graph these tensors are, or which of its arguments, that were written. Lets go of
  // them.
  void settle(Inputs outputs, Inputs arguments);

  bool empty() const { return names_.empty(); }
  // Of those of another call.
  void give(Inputs outputs, Inputs arguments, std::uint64_t since) const;

 private:
  struct Named {
    Tensor recorded;
    std::shared_ptr<const std::string> name;
    bool is_argument = false;
    std::size_t index = 0;
  };
  std::vector<Named> names_;
};

}  // namespace kiln::interp::capture
