// Owns running a program once more on tensors without elements, under the tape: what the tape then remembers
// of it, and what the tape's engine does in a backward, noted as nodes of the joint graph.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>

#include "jit/autodiff/tape.h"
#include "jit/graph/layouts.h"
#include "jit/graph/rewrite.h"
#include "jit/graph/trace.h"
#include "jit/passes/functionalize.h"
#include "tensor/autograd.h"
#include "tensor/levels/level.h"
#include "tensor/symbolic_run.h"
#include "tensor/tape/node.h"

namespace kiln::jit {

// What a replay is of. Its values are those of the functional form, whose nodes are copied as the program
// comes to them. An op that the tape sees as the smaller ops of its body is these in the copy.
struct Replayed {
  const Graph& program;
  const Functionalized& functional;
  const std::vector<bool>& wanted;  // by input: is its gradient wanted?
};

// Kernels do not run: the replay stands in for them. Where an op would be computed it is known which value of
// the functional graph that is, or a node is noted for it. Everything above, as views, writes, histories,
// bodies and rules, is the code that runs eagerly.
class Replay final : StandIn {
 public:
  struct Gradient {
    std::string name;
    Type type;
  };
  // Runs the program. `gradients`: inputs to add behind those of the program, of Role::Grad.
  Replay(const Replayed& replayed, std::span<const Gradient> gradients);
  ~Replay() override;

  const Tape& tape() const { return tape_; }
  // Where the values of the functional form are.
  ValueId at(ValueId functional) const { return joint_.at(functional); }
  // Gives values that have none the names that those of `like` have, which is this graph without gradients.
  // Throws OpError (Capture) if it is not.
  void take_names(const Graph& like);
  // Lets the engine walk from `roots`, to which the gradients come, to `targets`, and notes what it does. It
  // goes no further than to `ends`. Gives the gradients of the targets, absent where none arrives or the
  // target is empty. Throws what the engine throws, and OpError (Capture) where a rule asks for elements.
  std::vector<Operand> backward(std::span<const Edge> roots, std::span<const Edge> targets,
                                std::span<const Edge> ends);
  // The nodes whose rules ran, in order.
  const std::vector<int>& visited() const { return visited_; }
  // The graph so far. Ends the replay.
  Graph finish();

  Rewriter& joint() { return joint_; }

 private:
  // Passes all ops on, and hears whose derivative the tape runs.
  class Watch final : public levels::Level {
   public:
    explicit Watch(Replay& replay);
    Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs) override;
    Tensor write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType& result) override;
    Tensor rearrange(const Op& op, Inputs inputs, const Attrs& attrs) override;
    Tensor adopt(Tensor made) override { return made; }
    void differentiates(const tape::Node* node) override { replay_.differentiates(node); }
    void gathers(const tape::Node* node) override { replay_.gathers(node); }

   private:
    Replay& replay_;
  };
  // A node of the program while it runs.
  struct Current {
    const Node* node;
    const Functionalized::Values* values;
    bool is_body;                        // the tape sees the ops of its body
    bool was_run = false;                // the op itself was computed
    ValueId written = Operand::kAbsent;  // by the body, before it is cast to what it is written into
  };
  // An op that was computed, by the node that the tape has of it.
  struct Call {
    std::vector<Operand> operands;
    std::vector<ValueId> results;
  };

  // ---- StandIn ----
  Tensors run(const Op& op, Inputs inputs, const Attrs& attrs) override;
  void write(const Op& op, Inputs inputs, const Attrs& attrs) override;

  // ---- The program ----
  void add_inputs();
  void run_program();
  void run_node(std::size_t k);
  Tensors apply(const Node& node, Inputs operands);
  Tensors apply_custom(const Node& node, Inputs operands);
  Tensors apply_loop(const Node& node, Inputs operands);
  Tensor operand_tensor(const Operand& operand) const;
  Tensors results_of(const Node& node, const Functionalized::Values& values, bool is_write);
  void copy_before(std::size_t functional_node);
  void copy_with(std::span<const ValueId> values);
  std::size_t producer(ValueId functional) const;
  void end_body(Tensors& made);
  void note_histories(Inputs operands, Inputs made, const Node& node, const Functionalized::Values& values);
  void stands_for(const tape::Edge& edge, ValueId value);
  void called_by(const Tensor& made, const Call& call);

  // ---- The tape ----
  void read_tape();
  Tensor tensor_after(int input) const;
  void number_nodes(std::span<const tape::Edge> roots);
  TapeNode read(const tape::Node& node);
  Edge edge_of(const tape::Edge& edge) const;
  std::vector<tape::Edge> real(std::span<const Edge> edges) const;
  void fill_values();

  // ---- Values ----
  void remember(const Tensor& x, ValueId id);
  ValueId recall(const Tensor& x) const;
  Operand operand_of(const Tensor& x);
  Tensors note(const Op& op, Inputs inputs, const Attrs& attrs);
  void differentiates(const tape::Node* node);
  void gathers(const tape::Node* node);
  Operand laid_out(const Operand& value, const Tensor& x);
  Node like(int n);

  const Graph& program_;
  const Graph& functional_;
  const std::vector<Functionalized::Values>& values_;
  const std::vector<bool>& wanted_;
  std::vector<int> producers_;  // of the functional graph
  NoLevels apart_;
  SymbolicRun run_;
  GradMode mode_{true};
  std::optional<Watch> watch_;
  Rewriter joint_;
  std::size_t copied_ = 0;       // nodes of the functional graph
  std::vector<Tensor> tensors_;  // of the program's values
  std::vector<Tensor> gradients_;
  std::vector<tape::Edge> inputs_;  // of those whose gradient is wanted
  Current* current_ = nullptr;
  bool notes_ = false;  // a node for every op
  Node like_;           // what noted nodes have the place and origin of
  int reading_ = -1;    // the node of the tape whose rule runs

  // By id of the buffer. A write goes to another buffer, so a value of a buffer stays.
  struct ValueInMemory {
    Layout layout;
    DType dtype;
    ValueId id;
  };
  std::unordered_map<std::uint64_t, std::vector<ValueInMemory>> in_memory_;
  // A tensor with another buffer was written since, or is another one at this address.
  struct ValueOfTensor {
    std::uint64_t buffer;
    ValueId id;
  };
  std::unordered_map<const TensorImpl*, ValueOfTensor> by_tensor_;
  std::vector<Tensor> noted_;  // held, so that the engine does not write what a node gives
  std::unordered_map<const TensorImpl*, ValueId>
      first_values_;  // of the program's tensors, as they were made
  std::unordered_map<const tape::Node*, std::vector<ValueId>> stands_for_;
  std::unordered_map<const tape::Node*, Call> calls_;
  std::vector<Ref<tape::Node>> held_;                // those nodes, so that no two are ever at one address
  std::vector<std::pair<Tensor, Call>> body_calls_;  // of the node that runs
  Producers joint_producers_;
  std::unordered_map<const tape::Node*, int> numbers_;
  std::vector<Ref<tape::Node>> nodes_;  // by number
  Tape tape_;
  std::vector<int> visited_;
};

}  // namespace kiln::jit
