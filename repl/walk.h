// Owns a walk through the graphs of one call, node by node, with what each node gave.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interpreter/host/graph_stages.h"
#include "repl/session.h"

namespace kiln::repl {

// The graphs are those that `:functional` shows; where an argument requires a gradient, those of `:forward`
// and
// `:backward`, for gradients of ones. They run once more, op by op, on what the call was given and with the
// random numbers that it drew, and change nothing.
class Walk {
 public:
  explicit Walk(const interp::host::CapturedCall& call);

  std::size_t size() const { return stops_.size(); }
  std::size_t at() const { return at_; }
  // False, and nothing changes, where there is no such node; they count from 0.
  bool go_to(std::size_t stop);
  // The node with its line in the program and its values; the header of its graph before the first, what the
  // graph returns and writes behind the last.
  std::string view(Session& session) const;

 private:
  struct Part {
    jit::Graph graph;
    std::size_t first = 0;         // of its nodes among all stops
    interp::CapturedGraph ending;  // the break that it ends at, if there is one
  };
  struct Stop {
    std::size_t part = 0;
    Tensors results;
  };
  std::vector<Part> parts_;
  std::vector<Stop> stops_;
  std::size_t at_ = 0;
};

}  // namespace kiln::repl
