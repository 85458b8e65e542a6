// Owns the recording of a graph: a level under which ops run as in eager code, and are noted as nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "jit/graph/interpreted_application.h"
#include "jit/graph/program_call.h"
#include "jit/graph/rewrite.h"
#include "jit/graph/trace.h"
#include "tensor/fast_math.h"
#include "tensor/levels/level.h"
#include "tensor/symbolic_run.h"
#include "tensor/tape/node.h"

namespace kiln::jit {

// The lowest level of the stack: it sees plain tensors, and every op of the transforms above it. Ops are
// computed at once, so that the recorded call is a call like any other. Tensors are known by identity. The
// recorder holds every tensor it has seen, but releases the elements of those that have no other owner.
class Recorder final : public levels::Level {
 public:
  // `find_input` gives the role and name of a tensor that no op made. nullopt: the graph may not use it.
  struct InputInfo {
    Role role = Role::Argument;
    std::string name;
  };
  using FindInput = std::function<std::optional<InputInfo>(const Tensor&)>;
  Recorder(std::string graph_name, FindInput find_input);

  // The place in the source of the nodes to come.
  void set_place(Place place) { place_ = std::move(place); }
  const Place& place() const { return place_; }

  bool knows(const Tensor& x) const { return ids_.contains(x.impl()); }
  // The user's name of a value, unless it has one.
  void set_name(const Tensor& x, const std::string& name);

  // ---- Sizes and numbers that are symbols ----
  // A symbol, with its value in the recorded call. A number that is no size is guarded to be as large as
  // sizes are where it is in this call, since rules may take it for one.
  void add_symbol(const std::string& name, std::int64_t hint, bool is_size);
  // The value of a size in the recorded call.
  std::int64_t hint(Dim size) const {
    return size.is_known() ? size.known() : SymbolicRun::current()->scope().hint(size);
  }
  // From here on sizes are ints: of all that the recorded call made, and of its arguments.
  void settle() { run_.reset(); }
  // Adds an input before any op reads it.
  void meet(const Tensor& x) {
    if (!knows(x)) add_input(x);
  }
  // A number of the program that varies, and that ops of the next instruction may get as an operand.
  struct ExpectedNumber {
    Tensor number;  // an equal operand stands for this input; absent: none does
    bool used = false;
    bool is_fixed = false;  // arithmetic of the recorded call used the value, so it must not vary
  };
  std::vector<ExpectedNumber> expected;
  // Adds an input that is a number of the program.
  void add_number(const Tensor& number, std::string name);

  // How far the recording has come.
  struct Mark {
    std::size_t nodes = 0, guards = 0;
  };
  Mark mark() const {
    const SymbolicRun* const run = SymbolicRun::current();
    return {nodes_.size(), run == nullptr ? 0 : run->scope().guards().size()};
  }
  // What was asked of the symbols up to a mark.
  std::vector<SizeGuard> size_guards(const Mark& until) const;
  // Does an iteration of a loop read values of an earlier one? `iterations`: how many nodes there were before
  // each.
  bool iterations_follow(std::span<const std::size_t> iterations) const;
  // Why the recording cannot go on; empty while it can.
  const std::string& trouble() const { return trouble_; }
  bool is_stopped() const { return !trouble_.empty(); }

  struct GraphForm {
    bool symbolic = false;  // sizes are symbols; else those of the recorded call
    bool bodies = false;    // bodies replace composite ops under the tape, since the graph has derivatives
    bool taped = true;  // the graph runs under the tape; else nodes that serve the tape alone are left out
  };
  // The graph up to a mark, with these tensors as its outputs.
  Graph take(const Mark& until, Inputs outputs, const GraphForm& form);
  // Was a tensor written under the tape?
  bool wrote_history() const { return wrote_history_; }
  // Was memory written, or its layout changed, that is older than the recording?
  bool wrote_outside() const { return wrote_outside_; }
  // Why derivatives of the ops noted so far cannot be noted; empty: they can.
  const std::string& body_trouble() const { return body_trouble_; }
  // The tensors of the graph's inputs.
  std::span<const Tensor> inputs() const { return inputs_; }
  // From here on each input is also kept as it was when the recorder met it, so that the graph can run again.
  void keep_given() { keeps_given_ = true; }
  std::span<const Tensor> given() const { return given_; }
  // The tensor with the layout and storage that it had when the recorder met it, before any metadata write.
  const Tensor& as_met(const Tensor& x) const;

  // ---- Functions with derivatives of their own (record_application.cpp) ----
  // Ops from here up to `end_application` are the body of one such function.
  void begin_application() { open_.push_back({nodes_.size(), results_.size(), place_, {}}); }
  // Why the interpreter must run the body, as when it reads elements. Empty: the body is a graph.
  const std::string& interpreted() const { return open_.back().interpreted; }
  bool in_application() const { return !open_.empty(); }
  // Was x made by the open body, in memory that no tensor from outside of the body shares?
  bool is_own(const Tensor& x) const;
  // One application, in tensors of the recorded call.
  struct Application {
    std::string name;
    std::vector<Tensor> arguments;
    std::vector<std::string> names;  // of the arguments
    std::vector<Tensor> made;        // the results as the body made them: an argument where it was written
    std::vector<Tensor> results;     // as the program has them
    std::vector<bool> constants;     // by result: it is not to be differentiated
    // The tensors that backward reads, in the order of its inputs: results as made, arguments, or own
    // tensors.
    std::vector<Tensor> kept;
    std::optional<Graph> backward;
    std::function<Tensors(Inputs)> apply;
    std::function<InterpretedApplication(Inputs, const std::vector<bool>&)> begin;
    std::shared_ptr<const ProgramCall> program_call;
  };
  // The nodes since `begin_application` become the forward graph of one node.
  void end_application(Application application);
  void drop_application() { open_.pop_back(); }

  // ---- Loops (record_loop.cpp) ----
  // An op that is the graph's own has run: it made the results, of the operands. `name`: the name of an op
  // that the graph does not have yet.
  std::string own_name(std::string_view name) const;
  void note_own(std::shared_ptr<const Op> op, Inputs operands, Inputs results);

  Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs) override;
  Tensor write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType& result) override;
  Tensor rearrange(const Op& op, Inputs inputs, const Attrs& attrs) override;
  Tensor adopt(Tensor made) override;
  void stop_noting(std::string_view what) override;
  bool notes_plain() const override { return true; }
  void differentiates(const tape::Node* node) override;
  void gathers(const tape::Node* node) override;
  void runs_again(const tape::Recompute* checkpoint) override;
  void begins_step(const tape::Recompute& checkpoint, std::size_t step) override;
  void keeps(const Tensor& x) override;
  void skips_draws(std::int64_t count) override;

 private:
  // Inputs are met while nodes are noted, so inputs have numbers of their own, below zero.
  static int input_id(std::size_t k) { return -static_cast<int>(k) - 10; }
  Operand operand_of(const Tensor& x);
  bool add_input(const Tensor& x);
  Tensor as_given(const Tensor& x);
  Tensors bind_body(const Op& op, Inputs inputs, const Attrs& attrs);
  void cut_history(const Tensor& x);
  void remember(const Tensor& x);
  void remember_all(Inputs tensors);
  void forget_nodes(std::size_t from);
  int recall(const Tensor& x) const;
  void note_overwritten(std::uint64_t memory, std::uint64_t now);
  // Releasing elements that nothing else needs (record_memory.cpp).
  void hold(const Tensor& x);
  void release_dead();
  void release_dead_in(const Storage& storage);
  void release_dead_among(std::vector<std::size_t>& kept);
  void follow_memory(const Storage& storage, std::uint64_t before);
  void choose_nodes(const GraphForm& form, std::vector<int>& outputs);
  void drop_unused_inputs(std::vector<int>& outputs);
  void name_origins(Graph& graph, TakenNames& names, int inputs) const;
  Node node_of(const Op& op, Form form, Inputs inputs, const Attrs& attrs);
  void note(Node node, Inputs results);
  void append(Node node);
  void settle_attrs(Node& node) const;
  int add_value_like(int other);
  void follow_factor(Node& node, Inputs inputs, const Attrs& attrs);
  void fix_expected(const Attrs& attrs);
  int add_result(const Tensor& x, Type type);
  void draws(Inputs results);
  const tape::Recompute* checkpoint() const;
  int copied(const Tensor& x, int value);
  bool note_drawn_again(Inputs results);
  int value_made_by(const tape::Node* node) const;
  SmallVector<Tensor, 4> with_expected(Inputs given);
  Tensor without_history(const Tensor& x);
  void note_write(const Tensor& target);
  bool loses_history(Inputs inputs) const;
  bool keeps_history(const Tensor& target) const;
  // Applications (record_application.cpp).
  struct Cut;
  bool is_noting() const { return trouble_.empty() && (open_.empty() || open_.back().interpreted.empty()); }
  void refuse_write();
  const Value& value_of(int id) const;
  const Tensor& tensor_of(int id) const;
  Cut cut_body(std::size_t nodes, std::size_t results, const Application& application);
  void forget_since(std::size_t nodes, std::size_t results);
  void note_application(const Application& application, Graph forward, std::vector<std::size_t> written,
                        std::span<const Operand> operands);
  const Op& op_of(const Application& application, Graph forward, std::vector<std::size_t> written);

  std::string graph_name_;
  bool fast_math_ = fast_math();  // as the recording began
  FindInput find_input_;
  Place place_;
  bool in_checkpoint_ = false;  // the op that is being bound
  std::string trouble_;
  bool records_gradients_;
  std::uint64_t began_;  // the id of the newest storage when the recording began
  std::unordered_map<const TensorImpl*, int> ids_;
  std::vector<Tensor> inputs_;
  bool keeps_given_ = false;
  std::vector<Tensor> given_;                                        // by input
  std::unordered_map<const Storage*, Ref<Storage>> given_storages_;  // over the same memory
  std::unordered_map<const TensorImpl*, Tensor> layouts_as_met_;     // by tensor with a metadata write
  std::vector<Input> input_roles_;
  std::vector<Value> input_values_;
  std::vector<Node> nodes_;
  std::vector<Value> results_;
  std::vector<Tensor> kept_;  // the tensors of results_, held so that no two tensors ever have one address
  std::vector<std::size_t> with_elements_;  // those of kept_ whose elements were not released
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_memory_;  // those, by id of the buffer
  std::size_t bytes_made_ = 0;   // since dead tensors were last looked for
  std::size_t bytes_alive_ = 0;  // at that time
  struct Renaming {
    std::size_t nodes;  // how many there were before
    const TensorImpl* tensor;
    int id;   // the tensor's value before
    int now;  // and after
  };
  std::vector<Renaming> renamings_;

  // ---- Ops under the tape ----
  // A composite op on tensors with a history: the nodes of its body, and behind them the op as one node.
  struct Body {
    std::size_t begin, whole;
    std::vector<Type> types;  // of its results
  };
  std::vector<Body> bodies_;
  bool in_body_ = false;
  bool is_differentiating_ = false;
  bool wrote_history_ = false;
  bool wrote_outside_ = false;
  std::string body_trouble_;
  // Memory that the tape may have saved, and the value in it: backward reads that memory by other tensors.
  struct ValueInMemory {
    Layout layout;
    DType dtype;
    int id;
  };
  std::unordered_map<std::uint64_t, std::vector<ValueInMemory>> kept_memory_;  // by id of the buffer
  std::vector<std::size_t> copies_;  // nodes that copy saved memory before it is overwritten
  std::unordered_set<const Storage*> unrecorded_views_;  // storages of views taken without recording
  std::vector<std::size_t> cuts_;  // `detach` nodes, which stand for recording that was off
  std::unordered_map<const tape::Node*, int> made_by_;  // the value that a node of the tape made
  int origin_ = kNoOrigin;                              // the value whose derivative is being noted
  std::vector<int> origins_;                            // by node
  static constexpr int kNoOrigin = -1;

  struct OpenApplication {
    std::size_t nodes, results;  // how many there were before
    Place place;
    std::string interpreted;
  };
  std::vector<OpenApplication> open_;  // the innermost last
  std::vector<std::shared_ptr<const Op>> own_ops_;
  std::optional<SymbolicRun> run_;  // from the first symbol on
  // ---- Checkpoints ----
  // The draws of the first run of a checkpoint; its second run gets the same.
  struct CheckpointDraws {
    std::vector<Tensor> results;
    std::size_t next = 0;
  };
  std::unordered_map<std::uint64_t, CheckpointDraws> drawn_;           // by id
  std::unordered_map<std::uint64_t, std::vector<Place>> step_places_;  // by id, of the first run
  Place interrupted_place_;  // of the derivative that a second run interrupts
  bool runs_again_ = false;
};

// A part of what is recorded became a body of an op of its own: what its passes asked of the symbols is asked
// in the call that is recorded.
void ask_of_call(Graph& body);

// Tells inputs that share a storage so, with the offset at which each begins.
void say_shared_memory(std::span<const Tensor> tensors, std::vector<Input>& inputs);

}  // namespace kiln::jit
