// Owns a walk through the graphs of one call, node by node, with what each node gave.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
  explicit Walk(interp::host::CapturedCall call);

  std::size_t size() const { return stops_.size(); }
  std::size_t at() const { return at_; }
  // False, and nothing changes, where there is no such node; they count from 0.
  bool go_to(std::size_t stop);
  // The first node from `from` on that `target` means: a value ("%y" or "y"), an op ("matmul"), a line of the
  // program
  // (":12" or "demo.kiln:12"). Nothing where there is none.
  std::optional<std::size_t> find(std::string_view target, std::size_t from) const;
  // The node with its line in the program and its values; the header of its graph before the first, what the
  // graph returns and writes behind the last.
  std::string view(Session& session) const;

  // ---- Nodes and values ----

  const jit::Graph& graph_at(std::size_t stop) const { return parts_[stops_[stop].part].graph; }
  const jit::Node& node_at(std::size_t stop) const;
  const Tensors& results_at(std::size_t stop) const { return stops_[stop].results; }
  // "  # demo.kiln:2 | y = x * w" and the node as the graph's text has it, each on a line.
  std::string heading_at(Session& session, std::size_t stop) const;
  // What the node was given: names and tensors, without numbers and absent operands.
  std::vector<std::pair<std::string, Tensor>> operands_at(std::size_t stop) const;
  // The inputs of the first graph, by name.
  std::vector<std::pair<std::string, Tensor>> inputs() const;
  // An input of the graph, or a value that a node up to this one gave, by its name with or without %; null
  // where there is none.
  const Tensor* value(std::string_view name) const;
  // Goes on as if that value had been another one, here and in the backward graph; stays at this node. Throws
  // UserError for a tensor of another type and for a value that is not the only one of its node.
  void change(std::string_view name, const Tensor& value);

 private:
  struct Part {
    jit::Graph graph;
    std::size_t first = 0;         // of its nodes among all stops
    interp::CapturedGraph ending;  // the break that it ends at, if there is one
    std::vector<Tensor> values;    // by value of the graph
  };
  struct Stop {
    std::size_t part = 0;
    Tensors results;
  };
  void run();
  std::vector<Tensor> run(jit::Graph graph, std::vector<Tensor> arguments,
                          const interp::CapturedGraph& ending);
  void run_pair(const interp::CapturedGraph& captured);
  std::optional<jit::ValueId> named(const Part& part, std::string_view name) const;

  interp::host::CapturedCall call_;
  std::map<std::pair<std::size_t, jit::ValueId>, Tensor> changes_;  // by part and value
  std::vector<Part> parts_;
  std::vector<Stop> stops_;
  std::size_t at_ = 0;
};

}  // namespace kiln::repl
