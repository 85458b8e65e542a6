// Owns what values of a flow are in machine code, and what all parts that emit its steps share.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "jit/llvm/bitcode.h"
#include "jit/llvm/body_calls.h"
#include "jit/llvm/flow_plan.h"
#include "jit/llvm/flow_products.h"
#include "jit/llvm/flow_run.h"
#include "jit/llvm/flow_sizes.h"
#include "jit/llvm/scalar_calls.h"

namespace kiln::jit {

struct FlowRow;  // jit/llvm/flow_rows.h

// A tensor of the flow: where its elements are. Numbers that are known are llvm::ConstantInt, as the stride 1
// of a contiguous last dimension. Sizes, strides and the offset are i64 and count elements.
struct FlowTensor {
  DType dtype = DType::F32;
  llvm::Value* base = nullptr;    // the storage's memory; null: the only element is `element`
  llvm::Value* offset = nullptr;  // of the first element
  std::vector<llvm::Value*> sizes, strides;
  // Of a tensor that is kept in a register (FlowValuePlan::in_register), as memory would hold it: i8 of
  // a bool, i16 of halves.
  llvm::Value* element = nullptr;
  llvm::Value* origin = nullptr;  // of such a tensor, as in FlowRun: the input that it is, from 1, or 0
  std::shared_ptr<const FlowRow>
      deferred;  // what computes the elements where they are read; null: they are there

  std::size_t rank() const { return sizes.size(); }
};

// What code is made with. Blocks are made in an order in which definitions come before uses; a value of the
// flow is found by its id.
class FlowEmitter {
 public:
  FlowEmitter(Bodies& bodies, const FlowPlan& plan, const std::string& symbol);
  // The function: from a FlowRun (jit/llvm/flow_run.h) to the number of the exit.
  llvm::Function* run();

  llvm::IRBuilder<>& build() { return build_; }
  const FlowPlan& plan() const { return plan_; }
  const FlowGraph& flow() const { return *plan_.flow; }
  Bodies& bodies() { return bodies_; }
  ScalarCalls& scalars() { return scalars_; }  // scalar functions of one element
  BodyCalls& vectors() { return vectors_; }    // the same of kVector elements

  // ---- Values ----

  // A number: i64, double or i1 by its kind.
  llvm::Value* number(const Operand& operand);
  // A tensor; a number as an operand is a tensor in a register, of dtype i64, f64 or bool.
  FlowTensor tensor(const Operand& operand);
  DType dtype(const Operand& operand) const;
  // A size over symbols. It may wrap on its way, and is right where the result fits.
  llvm::Value* size(Dim size);
  llvm::Value* size_product(llvm::Value* a, llvm::Value* b);
  const SizeProducts& products() const { return products_; }
  llvm::Value* threads() { return threads_; }  // among which kernels share work
  llvm::Value* int_value(std::int64_t value) { return build_.getInt64(static_cast<std::uint64_t>(value)); }
  // Of all elements.
  llvm::Value* count(const FlowTensor& x);

  // ---- Elements ----

  // The address of the element at these indices; fewer indices: of the first one of what is left.
  llvm::Value* address(const FlowTensor& x, std::span<llvm::Value* const> indices = {});
  // As memory holds it.
  llvm::Value* load(const FlowTensor& x, std::span<llvm::Value* const> indices = {});
  void store(llvm::Value* element, const FlowTensor& x, std::span<llvm::Value* const> indices = {});
  // What a Pointwise step gives for these elements, of `dtypes`, as memory holds it in the dtype of the
  // application. Leaves by the step's exit where the function refuses them.
  llvm::Value* apply(const FlowStep& step, const Instruction& application,
                     std::span<llvm::Value* const> elements, std::span<const DType> dtypes);
  llvm::Value* converted(llvm::Value* element, DType from, DType to);

  // ---- Control ----

  llvm::BasicBlock* block(const char* name);
  // for (i = 0; i < count; ++i) body(i): blocks of its own. Values go round by memory or phis of the caller.
  void loop(llvm::Value* count, const std::function<void(llvm::Value* index)>& body);
  // Goes on where it does not hold.
  void leave_if(llvm::Value* condition, ExitId exit);
  // A slot of the stack at the top of the function.
  llvm::Value* stack(llvm::Type* type, std::uint64_t count = 1);

  llvm::Type* element_type(DType dtype);

 private:
  // What a block parameter is made of: a number; of a tensor in a register its element and origin; of one in
  // memory its base and offset.
  using Words = std::vector<llvm::Value*>;

  void read_run();
  void bind_inputs();
  void make_blocks();
  void begin_block(BlockId id);
  void emit_step(BlockId block, std::size_t index);
  void check_guards(std::span<const SizeGuard> guards, ExitId exit);
  void end_block(BlockId id);
  struct Jump {
    BlockId to;
    llvm::BasicBlock* from;
    std::vector<Words> words;  // by parameter
  };
  void jump(const FlowEnd::Target& target);
  void fill_parameters();
  void look_for_interrupt(const FlowBlock& block);
  llvm::BasicBlock* exit_block(ExitId exit);
  void write_exits();
  void end_in(ExitId exit, llvm::BasicBlock* made);
  void write_exit(ExitId exit);
  std::vector<BlockId> order() const;

  Words words_of(ValueId parameter, const Operand& operand);
  void define(ValueId id, const Words& words);
  void define(ValueId id, llvm::Value* number);
  FlowTensor described(ValueId id);  // sizes and strides of a value by its plan
  // Words as calls and exits have them.
  Words outside_words(const Operand& operand);
  Words outside_words(const FlowTensor& x);
  bool is_tensor(const Operand& operand) const {
    return operand.is_value() && !flow().type(operand.value).is_number;
  }

  llvm::Value* emit_number(const FlowStep& step, const FlowStepPlan& plan);
  llvm::Value* emit_item(const FlowStep& step);
  void emit_view(const FlowStep& step);
  void emit_element(const FlowStep& step, const FlowStepPlan& plan);
  llvm::Value* element_of(const FlowStep& step, const FlowStepPlan& plan);
  void emit_in_memory(const FlowStep& step, const FlowStepPlan& plan);
  FlowRow row_of(const FlowStep& step, const FlowStepPlan& plan);
  // What is pushed and popped (flow_stack_code.cpp).
  void emit_push(const FlowStep& step);
  void emit_pop(const FlowStep& step);
  llvm::Value* push_bytes(llvm::Value* bytes);
  llvm::Value* pop_bytes(llvm::Value* bytes);
  llvm::Value* bytes_on_stack(const FlowTensor& x);
  void defer(const FlowStep& step, const FlowStepPlan& plan);
  FlowTensor in_memory(const FlowTensor& x);
  void emit_write(const FlowRow& row);
  void emit_call(const FlowRow& row, std::span<llvm::Value* const> slots);
  llvm::Value* choose_slot(const FlowMemory& memory);
  llvm::Value* slot_field(llvm::Value* slot, std::uint64_t field, llvm::Type* type);
  void either(llvm::Value* condition, const std::function<void()>& then, const std::function<void()>& other);
  llvm::Value* room_for(const FlowTensor& result, llvm::Value* slot, ExitId exit);

  llvm::Value* field(FlowField index, llvm::Type* type);
  llvm::Value* word(llvm::Value* words, std::size_t index, llvm::Type* type);
  void set_word(llvm::Value* words, std::size_t index, llvm::Value* value);
  llvm::Value* ask(FlowField helper, std::span<llvm::Value* const> arguments);
  llvm::Type* number_type(DType kind);

  Bodies& bodies_;
  const FlowPlan& plan_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> build_;
  llvm::PointerType* pointer_;
  llvm::Function* function_;
  llvm::BasicBlock* entry_ = nullptr;
  ScalarCalls scalars_;
  BodyCalls vectors_;
  FlowSizes sizes_;
  SizeProducts products_;
  std::map<std::string, llvm::Value*> symbols_;
  std::vector<llvm::Value*> numbers_;  // by value
  std::vector<FlowTensor> tensors_;    // by value
  // Steps that were left to their readers, and are computed by calls in what is made now.
  std::map<const FlowRow*, FlowTensor> called_;
  std::vector<llvm::BasicBlock*> blocks_;
  std::vector<std::vector<llvm::PHINode*>> phis_;  // by block: the words of its parameters in order
  std::vector<Jump> jumps_;
  std::map<ExitId, llvm::BasicBlock*> exits_;
  llvm::Value* iterations_ = nullptr;
  llvm::Value* stack_used_ = nullptr;
  llvm::Value* interrupt_ = nullptr;
  llvm::Value* threads_ = nullptr;
  llvm::Value* slots_ = nullptr;
  llvm::Value* words_ = nullptr;
};

}  // namespace kiln::jit
