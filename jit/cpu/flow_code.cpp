// Owns flows as machine code: makes it, and runs it.
#include <algorithm>
#include <optional>

#include "jit/cpu/compiler.h"
#include "jit/cpu/flow_frame.h"
#include "jit/cpu/flow_key.h"
#include "jit/flow/flow_graph.h"
#include "jit/flow/flow_open.h"
#include "tensor/code_store.h"
#include "tensor/cpu/elementwise/elementwise.h"
#include "tensor/error.h"
#include "tensor/ops/pointwise.h"
#include "tensor/timeline.h"

namespace kiln::jit {
namespace {

std::size_t words_of(const FlowGraph& flow, ValueId id) {
  const Type& type = flow.type(id);
  return type.is_number ? 1 : 2 + 2 * type.sizes.size();
}
std::size_t words_of(const FlowGraph& flow, const std::vector<Operand>& operands) {
  std::size_t words = 0;
  for (const Operand& each : operands) words += each.is_value() ? words_of(flow, each.value) : 1;
  return words;
}

// How many words there are at most.
void count_words(FlowProgram& program) {
  const FlowGraph& flow = *program.flow;
  for (std::size_t i = 0; i < flow.inputs.size(); ++i)
    program.input_words += words_of(flow, static_cast<ValueId>(i));
  for (const FlowExit& each : flow.exits)
    program.value_words = std::max(program.value_words, words_of(flow, each.values));
  program.call_words = 2;  // of a number op
  for (const FlowPlan::Called& each : program.plan.calls) {
    const Node& node = flow.blocks[static_cast<std::size_t>(each.block)].steps[each.step].node;
    const std::size_t symbols = program.plan.step(each.block, each.step).symbols.size();
    program.call_words =
        std::max(program.call_words, words_of(flow, node.operands) + symbols + node.outputs.size());
  }
}

void fill_calls(FlowProgram& program) {
  for (const FlowPlan::Called& each : program.plan.calls) {
    const Node& node = program.flow->blocks[static_cast<std::size_t>(each.block)].steps[each.step].node;
    const bool is_fixed = node.op != nullptr && program.plan.step(each.block, each.step).symbols.empty();
    program.attrs.push_back(is_fixed ? to_attrs(*node.op, node.attrs) : Attrs());
  }
  for (const Instruction* const each : program.plan.kernels) {
    const auto type = static_cast<std::size_t>(cpu::element_of(each->compute));
    program.kernels.push_back(
        cpu::kernel_table().rows[static_cast<std::size_t>(each->op->pointwise->row)].block[type]);
  }
}

using FlowFunction = std::int64_t (*)(FlowRun*);
FlowFunction function_of(const Code& code) { return reinterpret_cast<FlowFunction>(code.find(kFlowSymbol)); }

// Null where what was kept needs something that is not here.
std::shared_ptr<Code> loaded(const std::string& object) {
  try {
    std::shared_ptr<Code> code = Code::load(object);
    static_cast<void>(function_of(*code));
    return code;
  } catch (const InternalError&) {
    return nullptr;
  }
}

// Kept by any process, or made and kept.
std::shared_ptr<Code> code_of(const FlowPlan& plan) {
  const CodeStore store = code_store();
  const std::string key = store.find ? flow_key(plan) : "";
  if (!key.empty()) {
    const timeline::Span span(timeline::Kind::Compile, "code kept on disk");
    const std::optional<std::string> object = store.find(key);
    if (object) {
      if (std::shared_ptr<Code> code = loaded(*object)) return code;
    }
  }
  const std::string object = emit_flow_with_llvm(plan);
  if (!key.empty()) store.keep(key, object);
  return Code::load(object);
}

FlowProgram make_program(std::shared_ptr<const FlowGraph> flow, InputMemory inputs) {
  FlowProgram program;
  program.plan = plan_flow(*flow, inputs);
  program.flow = std::move(flow);
  program.tensors = tensors_of(*program.flow);
  program.memory = memory_shown(*program.flow);
  count_words(program);
  fill_calls(program);
  program.code = code_of(program.plan);
  program.function = function_of(*program.code);
  return program;
}

class FlowCode final : public RunnableFlow {
 public:
  explicit FlowCode(FlowProgram program) : program_(std::move(program)) {}

  FlowResult run(std::span<const FlowValue> inputs, const FlowStacks& stacks) override {
    if (stacks.popped != nullptr && !stacks.popped->values.empty()) return {kCannotFail, {}, 0};
    if (!are_usual(inputs)) return evaluated(program_.flow)->run(inputs, stacks);
    if (are_apart(inputs)) return FlowFrame(program_, inputs, stacks).run();
    const FlowProgram* const shared = of_shared_memory();
    return shared != nullptr ? FlowFrame(*shared, inputs, stacks).run()
                             : evaluated(program_.flow)->run(inputs, stacks);
  }
  std::size_t bytes() const { return program_.code->bytes(); }

 private:
  // Layouts were worked out for sizes that are no less where they are symbols.
  bool are_usual(std::span<const FlowValue> inputs) const {
    return std::all_of(program_.plan.symbols.begin(), program_.plan.symbols.end(),
                       [&](const FlowSymbol& each) {
                         if (each.dim < 0 || each.is_stride) return true;
                         return inputs[static_cast<std::size_t>(each.input)].tensor.size(each.dim).hint() >=
                                SizeScope::kLowestSize;
                       });
  }
  bool are_apart(std::span<const FlowValue> inputs) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!program_.plan.values[i].in_register) continue;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (program_.plan.written[k] && shares_storage(inputs[i].tensor, inputs[k].tensor)) return false;
      }
    }
    return true;
  }

  // For inputs that may share memory, made when it is first needed; null where code cannot be made for them.
  const FlowProgram* of_shared_memory() {
    if (!asked_for_shared_) {
      asked_for_shared_ = true;
      try {
        of_shared_ = make_program(program_.flow, InputMemory::Any);
      } catch (const NoFlowCode&) {
        of_shared_.reset();
      }
    }
    return of_shared_ ? &*of_shared_ : nullptr;
  }

  FlowProgram program_;
  std::optional<FlowProgram> of_shared_;
  bool asked_for_shared_ = false;
};

}  // namespace

CompiledFlow compile_flow(std::shared_ptr<const FlowGraph> flow) {
  CompiledFlow made;
  try {
    auto code = std::make_unique<FlowCode>(make_program(opened(std::move(flow)), InputMemory::Apart));
    made.code_bytes = code->bytes();
    made.run = std::move(code);
  } catch (const NoFlowCode& error) {
    made.reason = error.reason;
  } catch (const NoCompiler& error) {
    made.reason = error.what();
  }
  return made;
}

}  // namespace kiln::jit
