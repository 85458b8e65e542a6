// Owns whose views the results of a graph are: those of the captured call, whatever the graph that runs made
// them of.
#pragma once

#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

class ViewOrigins {
 public:
  ViewOrigins() = default;
  static ViewOrigins of(const Graph& captured);

  // Of all results, before any of them has a history. One that is the only view of what is no result, and of
  // which no more was computed, has none then.
  void place(Inputs outputs, const SymbolValues& symbols) const;
  // When these have their histories: none follows its base before that is written again, those without a
  // history neither.
  void settle(Inputs outputs) const;
  // Of results that have none and no history: those of others the tape has made, or `place`. Call when
  // results have their histories.
  void give(Inputs outputs, const SymbolValues& symbols) const;

 private:
  // Of a graph in which composite ops that give views are these views.
  static ViewOrigins of_views(const Graph& captured);

  struct Step {
    const Op* op;
    std::vector<Attr> attrs;
    int output;
  };
  struct View {
    std::size_t output = 0;
    std::size_t base = 0;        // an output, too; itself: that is no result
    bool is_unrecorded = false;  // it has no history where the base has one, before that is written
    bool of_itself = false;      // no view in the eyes of the user: its layout was changed in place
    std::vector<Step> steps;
  };
  // What is no result, and views are of.
  struct Hidden {
    Dims sizes;
    DType dtype;
    std::vector<std::size_t> views;
  };
  static void link(const Tensor& x, const Tensor& base, const View& view, const SymbolValues& symbols);
  Tensor shared_base(const Hidden& hidden, Inputs outputs, const SymbolValues& symbols) const;

  std::vector<View> views_;
  std::vector<Hidden> hidden_;
  std::vector<std::size_t> own_;  // outputs that are no views
};

}  // namespace kiln::jit
