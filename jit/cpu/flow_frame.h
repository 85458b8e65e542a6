// Owns one run of a flow's code: its memory, what it asks of the program, and the values that it leaves with.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <vector>

#include "jit/cpu/flow_liveness.h"
#include "jit/cpu/flow_plan.h"
#include "jit/cpu/object.h"
#include "jit/flow/flow_stack.h"
#include "jit/llvm/flow_run.h"

namespace kiln::jit {

// What all runs share.
struct FlowProgram {
  std::shared_ptr<const FlowGraph> flow;
  FlowPlan plan;
  std::shared_ptr<Code> code;
  std::int64_t (*function)(FlowRun* run) = nullptr;
  std::vector<ValueSet> tensors, memory;  // tensors_of and memory_shown of the flow
  std::vector<cpu::BlockKernel> kernels;
  std::vector<Attrs> attrs;  // by call, where they follow no symbols
  std::size_t input_words = 0, value_words = 0, call_words = 0;
};

class FlowFrame : public FlowRun {
 public:
  // Throws OpError where a tensor cannot be written.
  FlowFrame(const FlowProgram& program, std::span<const FlowValue> given, const FlowStacks& stacks);
  FlowResult run();

 private:
  template <class F>
  static std::int64_t answer(FlowRun* run, const F& f);
  static std::int64_t ask_interrupted(FlowRun* run);
  static std::int64_t grow_slot(FlowRun* run, std::int64_t slot, std::int64_t bytes);
  static std::int64_t run_call(FlowRun* run, std::int64_t call);
  static std::int64_t reserve_stack(FlowRun* run, std::int64_t used, std::int64_t bytes);
  static std::int64_t compute_number(FlowRun* run, std::int64_t op, std::int64_t is_float);

  static constexpr std::int64_t kLeastStack = 4096;
  void move_stack(std::int64_t used, std::int64_t room);
  void finish_stack();
  class Reader;  // of words
  void write_inputs();
  bool carry_out(std::size_t number);
  Tensors apply(const Node& node, Inputs operands, const Attrs& attrs);
  Attrs attrs_of(std::size_t number, const Node& node, Reader& reader) const;
  bool keep(std::int64_t slot, Tensor made, Inputs operands);
  FlowValue value_of(const Operand& operand, Reader& reader) const;
  Tensor tensor_of(ValueId id, Reader& reader) const;
  Ref<Storage> storage_at(const void* base) const;
  bool may_be_one(ValueId a, ValueId b) const;
  bool is_view(ValueId id) const;
  Tensor one_of(ValueId id, const Tensor& made, const std::map<ValueId, Tensor>& others) const;
  void remember_base(ValueId id, const Tensor& view, const std::map<ValueId, Tensor>& others) const;

  const FlowProgram& program_;
  std::span<const FlowValue> given_;
  std::vector<std::int64_t> input_words_, value_words_, call_words_;
  std::vector<FlowSlot> slot_places_;
  std::vector<Ref<Storage>> slot_storages_;
  FlowStack* pushed_;         // null: nothing is pushed
  Ref<Storage> popped_;       // null: nothing is popped
  std::exception_ptr error_;  // a mistake of Kiln's in a call
};

}  // namespace kiln::jit
