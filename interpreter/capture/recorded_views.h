// Owns which results of a compiled call are views: those of the recorded call, however the graph makes them.
// So are arguments that the call gave another storage.
#pragma once

#include <optional>
#include <vector>

#include "jit/graph/graph.h"
#include "tensor/view.h"

namespace kiln::interp::capture {

class RecordedViews {
 public:
  // Notes of each result of the recorded call whether it is a view.
  void note(Inputs outputs);
  // Notes the arguments that got another storage, if only for a time: they are views of nothing from then on.
  void note_arguments(const jit::Graph& captured);
  // Makes the results of another call views as these were, and no others. `same_sizes`: they have the sizes
  // of the recorded call. Call when results have their histories.
  void give(Inputs outputs, bool same_sizes) const;
  void give_arguments(Inputs arguments) const;

 private:
  // How a view was taken of a base that the program cannot reach otherwise.
  struct View {
    ViewSteps steps;
    Layout base, view;
    DType dtype;        // of the base
    std::size_t bytes;  // of the storage
  };
  enum class Kind : std::uint8_t {
    Own,         // no view
    Rearranged,  // no view, its layout was changed in place
    View,
  };
  struct Result {
    Kind kind;
    std::optional<View> view;
  };
  static void make_view(const Tensor& x, const View& recorded, bool same_sizes);

  std::vector<Result> results_;
  std::vector<std::size_t> moved_;  // arguments
};

}  // namespace kiln::interp::capture
