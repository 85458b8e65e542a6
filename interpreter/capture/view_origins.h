// Owns whose views the results of a graph are: those of the captured call, whatever the graph that runs made
// them of.
#pragma once

#include <vector>

#include "jit/graph.h"

namespace kiln::interp::capture {

class ViewOrigins {
 public:
  ViewOrigins() = default;
  static ViewOrigins of(const jit::Graph& captured);

  // Of results without a history: those of others the tape has made. Call when the other results have theirs.
  void give(Inputs outputs, const jit::SymbolValues& symbols) const;

 private:
  // Of a graph in which composite ops that give views are these views.
  static ViewOrigins of_views(const jit::Graph& captured);

  struct Step {
    const Op* op;
    std::vector<jit::GraphAttr> attrs;
    int output;
  };
  struct View {
    std::size_t output = 0;
    std::size_t base = 0;        // an output, too; itself: that is no result
    bool is_unrecorded = false;  // it has no history where the base has one, before that is written
    std::vector<Step> steps;
  };
  std::vector<View> views_;
  std::vector<std::size_t> own_;  // outputs that are no views
};

}  // namespace kiln::interp::capture
