// Owns the nodes of the tape: what an operation leaves behind so that gradients can flow back through it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/autograd.h"
#include "tensor/op.h"
#include "tensor/symbolic_run.h"

namespace kiln::tape {

class Node;
void destroy(Node* node);

// Where a tensor came from: an output of a node. Empty for constants.
struct Edge {
  Ref<Node> node;
  std::uint32_t output = 0;
  explicit operator bool() const { return static_cast<bool>(node); }
  void visit_references(ReferenceVisitor& visitor) const;
};

// A hook, shared by the tensor it was put on and the node that runs it. Removing it empties `run`.
struct HookEntry final : RefCounted {
  HookEntry(int number, Hook hook) : id(number), run(std::move(hook)) {}
  int id;
  Hook run;
  void visit_references(ReferenceVisitor& visitor) const { run.visit_references(visitor); }
};
inline void destroy(HookEntry* entry) { delete entry; }

// Where the gradient of a tensor that is not a leaf is kept (`retain_grad`). Apart from the tensor, so that
// the node does not keep the tensor alive.
struct GradSlot final : RefCounted {
  Tensor grad;
  void visit_references(ReferenceVisitor& visitor) const { kiln::visit_references(grad, visitor); }
};
inline void destroy(GradSlot* slot) { delete slot; }

struct NodeHooks {
  struct OnOutput {
    std::uint32_t output;
    Ref<HookEntry> entry;
    void visit_references(ReferenceVisitor& visitor) const { kiln::visit_references(entry, visitor); }
  };
  struct Retained {
    std::uint32_t output;
    Ref<GradSlot> slot;
    void visit_references(ReferenceVisitor& visitor) const { kiln::visit_references(slot, visitor); }
  };
  std::vector<OnOutput> on_output;  // in the order they run
  std::vector<Retained> retained;
  void visit_references(ReferenceVisitor& visitor) const {
    kiln::visit_references(on_output, visitor);
    kiln::visit_references(retained, visitor);
  }
};

class Node : public RefCounted {
 public:
  virtual ~Node() {
    if (in_run_) [[unlikely]]
      SymbolicRun::forget(this);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // As shown by `x.grad_fn`: "MulBackward".
  virtual std::string name() const = 0;
  // Likewise, of a node that stands for several steps: the one that made this output.
  virtual std::string name_of_output([[maybe_unused]] std::uint32_t output) const { return name(); }
  // The history of the tensor that this output is a view of; empty where it is no view.
  virtual Edge viewed([[maybe_unused]] std::uint32_t output) const { return {}; }
  // Does this output share the memory of an input, in a way that only a function of the program knows?
  virtual bool shares_input([[maybe_unused]] std::uint32_t output) const { return false; }
  // Gradients of the inputs (one per edge, absent where not needed or zero) from those of the outputs.
  virtual Tensors backward(Inputs grads, std::span<const bool> needs) = 0;
  // A node may stand for several steps. Not every step is on the path to every input.
  virtual bool has_several_steps() const { return false; }
  // Which outputs lead to the inputs that are needed. Those whose own gradients are asked for are marked
  // already.
  virtual void mark_needed([[maybe_unused]] std::span<const bool> needs, std::span<bool> outputs) const {
    std::fill(outputs.begin(), outputs.end(), true);
  }
  // Of a node of several steps. It continues the sums of gradients that have arrived at its inputs (`sums`,
  // by input; absent: none), since it may add to one gradient more than once, in the order of the steps. It
  // owns its arguments, and releases each when it is read; the gradients returned include the sums.
  virtual Tensors backward_onto(Tensors grads, [[maybe_unused]] Tensors sums, std::span<const bool> needs) {
    return backward(grads, needs);
  }
  // The next `backward` is the last: it may release saved values as it reads them.
  virtual void expect_release() {}
  // Releases the values saved for `backward`, which from then on fails with a message that names the way out
  // (`freed`).
  virtual void release_saved() {}
  // Were some of the values that `backward` reads released?
  bool has_freed() const { return has_freed_; }
  // The error of a `backward` from these outputs that needs released values. `inputs` are those whose
  // gradients are asked for; those that no gradient of the outputs reaches are taken out.
  virtual std::optional<OpError> freed([[maybe_unused]] std::span<const bool> outputs,
                                       [[maybe_unused]] std::span<bool> inputs) const {
    return std::nullopt;
  }
  // Absent gradients of outputs become zeros before `backward`.
  virtual bool wants_zeros() const { return true; }
  virtual bool is_leaf() const { return false; }
  // Is its derivative code of the program that is not known to be ops alone?
  virtual bool is_opaque() const { return false; }

  // Of what it refers to: edges, hooks and what it keeps.
  void visit_references(ReferenceVisitor& visitor) const {
    kiln::visit_references(edges, visitor);
    kiln::visit_references(hooks, visitor);
    visit_kept(visitor);
  }

  // Do hooks on output `a` run before those on `b`, whenever they were added?
  virtual bool hooks_first([[maybe_unused]] std::uint32_t a, [[maybe_unused]] std::uint32_t b) const {
    return false;
  }

  SmallVector<Edge, 2> edges;               // one per input; empty: a constant
  SmallVector<TensorType, 1> output_types;  // gradients arrive in these
  // Grows with time: of the nodes that are ready, backward takes the youngest first.
  std::uint64_t sequence;
  std::unique_ptr<NodeHooks> hooks;
  Node* next_dead = nullptr;  // links nodes that wait for their end, see `destroy`

 protected:
  explicit Node(std::uint64_t number) : sequence(number) {
    if (SymbolicRun::current() != nullptr) [[unlikely]]
      enter_run();
  }
  // The call in which it was made over symbols has ended: all sizes that it keeps become ints.
  virtual void settle(const SymbolValues& values);
  // What a node of this kind refers to beside its edges and hooks.
  virtual void visit_kept(ReferenceVisitor& visitor) const = 0;
  bool has_freed_ = false;

 private:
  void enter_run();
  bool in_run_ = false;
};

inline void Edge::visit_references(ReferenceVisitor& visitor) const { kiln::visit_references(node, visitor); }

// The next sequence number of this thread.
std::uint64_t next_sequence();

// Counts nodes other than leaves (`live_tape_nodes`), by being a member.
struct LiveCount {
  LiveCount();
  ~LiveCount();
  LiveCount(const LiveCount&) = delete;
  LiveCount& operator=(const LiveCount&) = delete;
};

}  // namespace kiln::tape
