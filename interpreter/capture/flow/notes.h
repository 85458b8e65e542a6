// Owns the flow graph that is being read: ops on tensors without elements become steps of its blocks, as do
// operations on numbers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpreter/capture/flow/value.h"
#include "tensor/symbolic_run.h"

namespace kiln::interp::capture {

// The instruction that is read cannot be part of a flow, which is left in front of it.
struct Unsupported {
  std::string reason;
};

class FlowNotes final : public StandIn {
 public:
  explicit FlowNotes(std::string name);

  jit::FlowGraph& graph() { return graph_; }
  void set_place(jit::Place place) { place_ = std::move(place); }
  const jit::Place& place() const { return place_; }
  // Where steps go that fail for a reason, found when the first one asks; kCannotFail: nowhere, since the
  // instruction has already written.
  using FindExit = std::function<jit::ExitId(const std::string& reason)>;
  void set_exit(FindExit exit) { exit_ = std::move(exit); }

  // ---- Values ----
  // A symbol of sizes, which are at least 2.
  Dim add_size(const std::string& name, std::int64_t hint);
  FlowItem add_number(DType dtype, std::string name, std::int64_t hint, std::int64_t lowest);
  Tensor add_tensor(const jit::Type& type, std::string name);
  jit::Type type_of(const FlowItem& item) const;  // of a number or tensor
  // The operand of a number or tensor; an int that is one value of the flow is that value.
  jit::Operand operand_of(const FlowItem& item) const;
  jit::Operand operand_of(const Tensor& x) const;
  FlowItem item_of(const Tensor& x) const;
  Tensor number_tensor(const FlowItem& number);  // that stands for a number of the flow
  // An int as a size: of a value its symbol.
  Dim size_of(const FlowItem& number) const;
  std::int64_t hint_of(const FlowItem& number) const;
  std::int64_t elements_hint(const Tensor& x) const;  // how many elements it has where the loop is read

  // ---- Steps ----
  FlowItem apply(jit::NumberOp op, DType dtype, const std::vector<FlowItem>& operands, bool may_fail,
                 std::int64_t hint = kAnyHint);
  // What an elementwise row of that name gives for floats.
  FlowItem call(std::string_view row, const std::vector<FlowItem>& operands);
  // The place that an int counts, in a dimension of that size.
  Dim index(const FlowItem& number, Dim size);
  Dim slice_start(const FlowItem& number, Dim size);
  Dim slice_end(const FlowItem& number, Dim size, Dim start);
  FlowItem item(const Tensor& x);  // the number that a tensor of one element holds
  Tensor slice(const Tensor& x, int dim, Dim start, Dim stop, Dim step);
  // The flow goes on where the bool holds, and leaves where not, for the reason that is given.
  void require(const FlowItem& condition, const std::string& otherwise);
  // Has a number been left open that was asked of symbols? It becomes a step of its own.
  void settle_guards();

  Tensors run(const Op& op, Inputs inputs, const Attrs& attrs) override;
  void write(const Op& op, Inputs inputs, const Attrs& attrs) override;

  // ---- Blocks ----
  jit::BlockId begin_block();
  jit::BlockId add_inner();                    // begins a block that one way of the present block goes to
  jit::BlockId add_leaving(jit::ExitId exit);  // a block that only leaves; the present one stays so
  jit::BlockId block() const { return block_; }
  jit::FlowBlock& at(jit::BlockId id) { return graph_.blocks[static_cast<std::size_t>(id)]; }

  // ---- Instructions ----
  // Memory that is made from here on is not yet seen by anything else.
  std::uint64_t now() const { return made_; }
  void begin_instruction(std::uint64_t fresh_since) {
    fresh_since_ = fresh_since;
    wrote_ = false;
  }
  bool wrote() const { return wrote_; }                                                 // to other memory
  bool is_made(const Tensor& x) const { return made_at_.contains(x.storage().get()); }  // by the flow

  static constexpr std::int64_t kAnyHint = INT64_MIN;

 private:
  jit::ValueId add_value(jit::Type type, std::string name);
  void know(const Tensor& x, jit::ValueId id);
  void assume(SizeRelation relation, Dim a, Dim b);
  jit::FlowStep& note(const Op& op, jit::Form form, const std::vector<Attr>& attrs,
                      std::vector<jit::Operand> operands, bool may_fail);
  jit::ExitId exit(const std::string& reason);
  std::string failure_of(const Op& op) const;  // of the step that is noted next
  Tensors results_of(const Op& op, Inputs inputs, const Attrs& attrs);
  Tensors view(const Op& op, Inputs inputs, const Attrs& attrs);
  Tensor alias(const Tensor& x, Layout layout);
  struct HintRange {
    std::int64_t least, most;
  };
  Dim placed(jit::NumberOp op, const FlowItem& number, Dim size, HintRange within_hints);
  void forget_overlap(const Tensor& target);
  void forget_broadcast();
  template <class F>
  void forget_guards_if(std::size_t first, const F& is_needless);
  SizeScope& scope() { return run_.scope(); }

  jit::FlowGraph graph_;
  SymbolicRun run_;
  jit::BlockId block_ = 0;
  jit::Place place_;
  FindExit exit_;
  std::unordered_map<const TensorImpl*, jit::ValueId> ids_;
  std::vector<Tensor> kept_;  // so that no two tensors are ever at one address
  std::unordered_map<const Storage*, std::uint64_t> made_at_;
  std::uint64_t made_ = 0;
  std::uint64_t fresh_since_ = 0;
  bool wrote_ = false;
  std::vector<SizeGuard> facts_;       // hold wherever their symbols are defined
  std::int64_t next_hint_ = -2;        // neither 0 nor 1, which are sizes with a meaning of their own
  std::size_t guards_ = 0;             // how many of the scope belong to steps already
  std::map<std::string, Dim> places_;  // indices and bounds of the block, by what they were made of
};

}  // namespace kiln::interp::capture
