#include "tensor/tape/engine.h"

#include <algorithm>

#include "tensor/autocast.h"
#include "tensor/functions.h"
#include "tensor/levels/level.h"
#include "tensor/parallel.h"
#include "tensor/tape/backward_watch.h"
#include "tensor/tape/leaf.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/mode.h"
#include "tensor/tape/node_index.h"
#include "tensor/tape/sparse_gradient.h"

namespace kiln::tape {
namespace {

constexpr int kNone = -1;

// What the walk knows of one node.
struct Stop {
  Node* node;
  std::uint32_t pending = 0;  // edges into it that have not delivered yet
  bool needed = false;
  bool is_end = false;
  int marks = kNone;             // of a node of several steps: which outputs are needed, see Engine::marks_
  int wanted = kNone;            // first of the edges whose gradient is returned, see Engine::next_wanted_
  SmallVector<Tensor, 1> grads;  // one per output, absent: nothing has arrived
};

// The type in which gradients arrive. A leaf has symbols for its sizes as long as a call is recorded over
// them, while its node is older.
TensorType type_at(const Node& node, std::uint32_t output) {
  if (SymbolicRun::current() != nullptr && node.is_leaf()) [[unlikely]] {
    if (const Tensor leaf = static_cast<const LeafNode&>(node).leaf()) return leaf.type();
  }
  return node.output_types[output];
}

// Nobody else sees the memory of x, so it may be added into.
bool is_own(const Tensor& x) {
  return x.impl()->ref_count() == 1 && x.storage()->ref_count() == 1 &&
         x.storage()->buffer()->has_one_owner() && x.is_contiguous();
}

Tensor zeros_of(const TensorType& type) { return ops::zeros(type.sizes, type.dtype, type.device); }

class Engine {
 public:
  explicit Engine(const Walk& walk) : walk_(walk), results_(walk.wanted.size()) {}

  std::vector<Tensor> run() {
    explore();
    mark_wanted();
    mark_ends();
    mark_needed();
    if (some_freed_) expect_values();
    count_pending();
    const GradMode mode(walk_.create_graph);
    start();
    while (!ready_.empty()) {
      check_interrupt();
      visit(pop());
    }
    return std::move(results_);
  }

 private:
  // Numbers every node that the roots reach; `order_` has inputs before what is made of them.
  void explore() {
    struct Frame {
      std::uint32_t stop;
      std::uint32_t edge;
    };
    std::vector<Frame> path;
    for (const Edge& root : walk_.roots) {
      if (add(*root.node)) path.push_back({last(), 0});
      while (!path.empty()) {
        Frame& top = path.back();
        const auto& edges = stops_[top.stop].node->edges;
        if (top.edge == edges.size()) {
          order_.push_back(top.stop);
          path.pop_back();
          continue;
        }
        const Edge& edge = edges[top.edge++];
        if (edge && add(*edge.node)) path.push_back({last(), 0});
      }
    }
  }

  std::uint32_t last() const { return static_cast<std::uint32_t>(stops_.size() - 1); }

  bool add(Node& node) {
    if (index_.find_or_add(&node, static_cast<std::uint32_t>(stops_.size())) != NodeIndex::kNew) return false;
    stops_.emplace_back().node = &node;
    return true;
  }

  Stop& stop_of(const Edge& edge) { return stops_[index_.find(edge.node.get())]; }

  // Does a gradient that arrives there lead to what is asked for?
  bool leads(const Edge& edge) {
    const Stop& stop = stop_of(edge);
    return stop.needed && (stop.marks == kNone || marks_[static_cast<std::size_t>(stop.marks)][edge.output]);
  }

  void mark_wanted() {
    next_wanted_.assign(walk_.wanted.size(), kNone);
    for (std::size_t i = 0; i < walk_.wanted.size(); ++i) {
      const std::uint32_t number = index_.find(walk_.wanted[i].node.get());
      if (number == NodeIndex::kNew) continue;
      next_wanted_[i] = std::exchange(stops_[number].wanted, static_cast<int>(i));
    }
  }

  void mark_ends() {
    for (const Edge& each : walk_.ends) {
      const std::uint32_t number = index_.find(each.node.get());
      if (number != NodeIndex::kNew) stops_[number].is_end = true;
    }
  }

  void mark_needed() {
    for (const std::uint32_t number : order_) {
      Stop& stop = stops_[number];
      if (stop.node->has_several_steps()) {
        mark_outputs(stop);
      } else {
        stop.needed = stop.wanted != kNone || (walk_.into_leaves && stop.node->is_leaf());
        for (const Edge& edge : stop.node->edges) {
          if (stop.needed || stop.is_end) break;
          stop.needed = edge && leads(edge);
        }
      }
      some_freed_ |= stop.needed && stop.node->has_freed();
    }
  }

  void mark_outputs(Stop& stop) {
    const SmallVector<bool, 8> needs = needs_of(*stop.node);
    SmallVector<bool, 8> outputs(stop.node->output_types.size(), false);
    for (int i = stop.wanted; i != kNone; i = next_wanted_[static_cast<std::size_t>(i)]) {
      outputs[walk_.wanted[static_cast<std::size_t>(i)].output] = true;
    }
    stop.node->mark_needed(needs, outputs);
    stop.needed = std::find(outputs.begin(), outputs.end(), true) != outputs.end();
    stop.marks = static_cast<int>(marks_.size());
    marks_.push_back(std::move(outputs));
  }

  // Throws before any hook has run and any leaf has its gradient if a node on the way has released what it
  // reads: for the first that would be visited.
  void expect_values() {
    std::vector<SmallVector<bool, 8>> reached(stops_.size());
    const auto reach = [&](const Edge& edge) {
      auto& outputs = reached[index_.find(edge.node.get())];
      outputs.resize(edge.node->output_types.size(), false);
      outputs[edge.output] = true;
    };
    for (const Edge& root : walk_.roots) reach(root);
    std::optional<OpError> error;
    std::uint64_t youngest = 0;
    for (auto number = order_.rbegin(); number != order_.rend(); ++number) {
      const Node& node = *stops_[*number].node;
      SmallVector<bool, 8> inputs = needs_of(node);
      const bool any = std::find(inputs.begin(), inputs.end(), true) != inputs.end();
      if (reached[*number].empty() || !any) continue;
      std::optional<OpError> freed = node.freed(reached[*number], inputs);
      if (freed && node.sequence > youngest) error = std::move(freed), youngest = node.sequence;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i]) reach(node.edges[i]);
      }
    }
    if (error) throw std::move(*error);
  }

  // Which inputs lead to what is asked for?
  SmallVector<bool, 8> needs_of(const Node& node) {
    SmallVector<bool, 8> needs;
    for (const Edge& edge : node.edges) needs.push_back(edge && leads(edge));
    return needs;
  }

  void count_pending() {
    for (const Stop& stop : stops_) {
      if (!stop.needed) continue;
      for (const Edge& edge : stop.node->edges) {
        if (edge) ++stop_of(edge).pending;
      }
    }
  }

  void start() {
    for (std::size_t i = 0; i < walk_.roots.size(); ++i) {
      const Edge& root = walk_.roots[i];
      if (leads(root)) give(stop_of(root), root.output, walk_.root_grads[i]);
    }
    // The last in `order_` and every other that nothing leads to.
    for (const std::uint32_t number : order_) {
      if (stops_[number].needed && stops_[number].pending == 0) push(number);
    }
  }

  void push(std::uint32_t number) {
    ready_.push_back({stops_[number].node->sequence, number});
    std::push_heap(ready_.begin(), ready_.end());
  }
  std::uint32_t pop() {
    std::pop_heap(ready_.begin(), ready_.end());
    const std::uint32_t number = ready_.back().second;
    ready_.pop_back();
    return number;
  }

  // A gradient arrives at an output: brought to the output's type and added to what is there.
  void give(Stop& stop, std::uint32_t output, Tensor grad) {
    const levels::Gathering gathering(*stop.node);
    const TensorType type = type_at(*stop.node, output);
    if (grad.sizes() != type.sizes) {
      if (!broadcastable_to(type.sizes, grad.sizes())) {
        throw InternalError("a gradient of type " + to_string(grad.type()) + " reached " + stop.node->name() +
                            ", whose output is " + to_string(type));
      }
      grad = ops::sum_to(grad, type.sizes);
    }
    if (grad.dtype() != type.dtype) grad = ops::to(grad, type.dtype);
    if (stop.grads.empty()) stop.grads.resize(stop.node->output_types.size());
    Tensor& sum = stop.grads[output];
    if (!sum) {
      sum = std::move(grad);
    } else if (sparse::is_sparse(sum) || sparse::is_sparse(grad)) {
      sum = sparse::add(sum, grad);
    } else if (!walk_.create_graph && is_own(sum)) {
      ops::add_(sum, grad);
    } else {
      sum = sum + grad;
    }
  }

  void visit(std::uint32_t number) {
    Stop& stop = stops_[number];
    Node& node = *stop.node;
    SmallVector<Tensor, 1> grads = std::move(stop.grads);
    Tensors inputs;
    if (!grads.empty()) {
      run_hooks(node, grads);
      for (int i = stop.wanted; i != kNone; i = next_wanted_[static_cast<std::size_t>(i)]) {
        results_[static_cast<std::size_t>(i)] = grads[walk_.wanted[static_cast<std::size_t>(i)].output];
      }
      if (!node.is_leaf()) {
        if (!stop.is_end) inputs = differentiate(node, grads);
      } else if (walk_.into_leaves) {
        static_cast<LeafNode&>(node).accumulate(std::exchange(grads[0], Tensor()), walk_.create_graph);
      }
    }
    grads.clear();
    deliver(node, inputs);
  }

  void run_hooks(Node& node, SmallVector<Tensor, 1>& grads) {
    if (!node.hooks) return;
    const levels::Gathering gathering(node);
    // By index: a hook may add or remove others.
    for (std::size_t i = 0; i < node.hooks->on_output.size(); ++i) {
      const NodeHooks::OnOutput hook = node.hooks->on_output[i];
      Tensor& grad = grads[hook.output];
      if (!grad || !hook.entry->run) continue;
      const Hook keep_alive = hook.entry->run;
      if (const Tensor replaced = keep_alive(grad)) grad = checked_replacement(node, hook.output, replaced);
    }
    if (!walk_.into_leaves) return;
    for (const auto& [output, slot] : node.hooks->retained) {
      if (!grads[output]) continue;
      if (!slot->grad) {
        slot->grad = grads[output];
      } else if (sparse::is_sparse(slot->grad) || sparse::is_sparse(grads[output])) {
        slot->grad = sparse::add(slot->grad, grads[output]);
      } else {
        slot->grad = slot->grad + grads[output];
      }
    }
  }

  static Tensor checked_replacement(const Node& node, std::uint32_t output, const Tensor& grad) {
    const TensorType type = type_at(node, output);
    if (grad.sizes() == type.sizes && grad.dtype() == type.dtype) return grad;
    throw OpError(ErrorKind::Autograd, "a hook returned a gradient of type " + to_string(grad.type()) +
                                           " in place of one of type " + to_string(type));
  }

  // Rules are written over whole gradients.
  [[noreturn]] static void refuse_sparse(const Node& node, const Tensor& grad) {
    throw OpError(ErrorKind::Autograd,
                  sparse::describe(grad) + " reached " + node.name() + ", and can only be that of a leaf", {},
                  "give `embedding` the weight itself, or leave out sparse=true");
  }

  // Gradients of the node's inputs; empty when none is needed.
  Tensors differentiate(Node& node, SmallVector<Tensor, 1>& grads) {
    const SmallVector<bool, 8> needs = needs_of(node);
    if (std::find(needs.begin(), needs.end(), true) == needs.end()) return {};
    if (node.wants_zeros()) {
      const levels::Gathering gathering(node);
      for (std::size_t i = 0; i < grads.size(); ++i) {
        if (!grads[i] && is_differentiable(node.output_types[i].dtype))
          grads[i] = zeros_of(node.output_types[i]);
      }
    }
    for (const Tensor& each : grads) {
      if (each && sparse::is_sparse(each)) refuse_sparse(node, each);
    }
    if (!walk_.retain_graph) node.expect_release();
    levels::announce_derivative(&node);
    Tensors inputs =
        node.has_several_steps() ? run_steps(node, take(grads), needs) : node.backward(grads, needs);
    levels::announce_derivative(nullptr);
    if (inputs.size() != node.edges.size()) {
      throw InternalError(node.name() + " returned " + std::to_string(inputs.size()) + " gradients for " +
                          std::to_string(node.edges.size()) + " inputs");
    }
    if (!walk_.retain_graph) node.release_saved();
    return inputs;
  }

  static Tensors take(SmallVector<Tensor, 1>& grads) {
    Tensors taken;
    for (Tensor& each : grads) taken.push_back(std::move(each));
    return taken;
  }

  // A sum that is sparse goes in as the matrix that it becomes where the node adds to it, and stays as it was
  // where the node does not.
  Tensors run_steps(Node& node, Tensors grads, std::span<const bool> needs) {
    Tensors sums = take_sums(node, needs);
    Tensors dense(sums.size()), before(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (!sums[i] || !sparse::is_sparse(sums[i])) continue;
      before[i] = sums[i];
      sums[i] = dense[i] = sparse::to_dense(sums[i]);
    }
    Tensors inputs = node.backward_onto(std::move(grads), std::move(sums), needs);
    for (std::size_t i = 0; i < std::min(inputs.size(), before.size()); ++i) {
      if (before[i] && inputs[i] && inputs[i].is_same(dense[i])) inputs[i] = before[i];
    }
    return inputs;
  }

  // What has arrived at the inputs.
  Tensors take_sums(const Node& node, std::span<const bool> needs) {
    Tensors sums(node.edges.size());
    for (std::size_t i = 0; i < node.edges.size(); ++i) {
      if (!needs[i]) continue;
      const Edge& edge = node.edges[i];
      SmallVector<Tensor, 1>& grads = stop_of(edge).grads;
      if (!grads.empty()) sums[i] = std::exchange(grads[edge.output], Tensor());
    }
    return sums;
  }

  // Passes the gradients on and tells the inputs' nodes that this one is done.
  void deliver(Node& node, Tensors& inputs) {
    for (std::size_t i = 0; i < node.edges.size(); ++i) {
      const Edge& edge = node.edges[i];
      if (!edge) continue;
      const std::uint32_t number = index_.find(edge.node.get());
      Stop& stop = stops_[number];
      if (!stop.needed) continue;
      if (i < inputs.size() && inputs[i]) give(stop, edge.output, std::move(inputs[i]));
      if (--stop.pending == 0) push(number);
    }
  }

  const Walk& walk_;
  NodeIndex index_;
  std::vector<Stop> stops_;
  std::vector<std::uint32_t> order_;
  std::vector<SmallVector<bool, 8>> marks_;
  std::vector<int> next_wanted_;  // links the wanted edges of one node
  std::vector<Tensor> results_;
  bool some_freed_ = false;  // a node that is needed has released values that it reads
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ready_;  // a heap by sequence number
};

}  // namespace

std::vector<Tensor> run(const Walk& walk) {
  const BackwardSpan span;
  const autocast::Off off;
  return Engine(walk).run();
}

}  // namespace kiln::tape
