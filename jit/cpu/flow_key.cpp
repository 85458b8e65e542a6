#include "jit/cpu/flow_key.h"

#include "jit/cpu/compiler.h"
#include "jit/loops/code_key.h"
#include "tensor/size_expression.h"

namespace kiln::jit {
namespace {

// All fields are named here, so that a new one is not forgotten: what the emitter does not read is left out.
class FlowKey {
 public:
  explicit FlowKey(const FlowPlan& plan) : plan_(plan), flow_(*plan.flow) {}

  std::string run(std::string_view compiler, std::string_view processor) {
    key_.put(std::string_view("flow"));
    key_.put(compiler);
    key_.put(processor);
    const auto& [flow, steps, values, symbols, kernels, calls, slots, written] = plan_;
    put_all(values, [this](const FlowValuePlan& each) { put(each); });
    put_all(symbols, [this](const FlowSymbol& each) { put(each); });
    const auto& [name, hints, types, inputs, blocks, exits, own_ops] = flow_;
    put_all(types, [this](const Value& each) { put(each.type); });
    key_.put(inputs.size());
    key_.put(blocks.size());
    for (std::size_t b = 0; b < blocks.size(); ++b) put(blocks[b], steps[b]);
    put_all(exits, [this](const FlowExit& each) { put(each.values); });
    return key_.take();
  }

 private:
  template <class T, class F>
  void put_all(const std::vector<T>& items, const F& f) {
    key_.put(items.size());
    for (const T& each : items) f(each);
  }
  void put_ids(const std::vector<ValueId>& ids) {
    put_all(ids, [this](ValueId each) { key_.put(each); });
  }
  void put_texts(const std::vector<std::string>& texts) {
    put_all(texts, [this](const std::string& each) { key_.put(std::string_view(each)); });
  }

  void put(Dim size) {
    key_.put(size.is_int());
    if (size.is_int())
      key_.put(constant_of(size));
    else
      key_.put(std::string_view(size.expression()->text));
  }
  void put(const Dims& sizes) {
    key_.put(sizes.size());
    for (const Dim each : sizes) put(each);
  }
  void put(const Type& type) {
    key_.put(type.dtype);
    key_.put(type.is_number);
    key_.put(type.sizes.size());
  }
  void put(const Operand& operand) {
    key_.put(operand.value);
    key_.put(operand.number.index());
    if (const auto* size = std::get_if<Dim>(&operand.number)) return put(*size);
    std::visit(
        [this](const auto& number) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(number)>, Dim>) key_.put(number);
        },
        operand.number);
  }
  void put(const std::vector<Operand>& operands) {
    put_all(operands, [this](const Operand& each) { put(each); });
  }
  void put(const std::vector<SizeGuard>& guards) {
    put_all(guards, [this](const SizeGuard& each) {
      const auto& [relation, a, b, op, place] = each;
      key_.put(relation);
      put(a);
      put(b);
    });
  }

  void put(const FlowValuePlan& value) {
    const auto& [layout, in_register, symbol] = value;
    put(layout.sizes);
    put(layout.strides);
    put(layout.offset);
    key_.put(in_register);
    key_.put(std::string_view(symbol));
  }
  void put(const FlowSymbol& symbol) {
    const auto& [name, input, dim, is_stride] = symbol;
    key_.put(std::string_view(name));
    key_.put(input);
    key_.put(dim);
    key_.put(is_stride);
  }

  void put(const FlowBlock& block, const std::vector<FlowStepPlan>& plans) {
    const auto& [parameters, steps, end, begins_loop, interrupted] = block;
    put_ids(parameters);
    key_.put(steps.size());
    for (std::size_t k = 0; k < steps.size(); ++k) put(steps[k], plans[k]);
    put(end);
    key_.put(begins_loop);
    key_.put(interrupted);
  }
  void put(const FlowEnd& end) {
    const auto& [kind, condition, then, other, exit, place] = end;
    key_.put(kind);
    put(condition);
    for (const FlowEnd::Target* const each : {&then, &other}) {
      key_.put(each->block);
      put(each->arguments);
    }
    key_.put(exit);
  }
  void put(const FlowStep& step, const FlowStepPlan& plan) {
    const auto& [node, guards, exit] = step;
    key_.put(node.writes());
    put(node.operands);
    put_ids(node.outputs);
    put(guards);
    key_.put(exit);
    put(plan);
  }
  void put(const FlowStepPlan& plan) {
    const auto& [kind, of_elements, deferred, number, application, combine, dims, filled, call, guards,
                 symbols, memory, apart] = plan;
    key_.put(kind);
    key_.put(of_elements);
    key_.put(deferred);
    key_.put(number);
    key_.put(application);
    key_.put(combine);
    put_all(dims, [this](bool each) { key_.put(each); });
    key_.put(filled.has_value());
    key_.put(filled.value_or(0));
    key_.put(call);
    put(guards);
    put_texts(symbols);
    key_.put(apart);
    put_all(memory, [this](const FlowMemory& each) {
      key_.put(each.first);
      key_.put(each.count);
      put_ids(each.held);
    });
  }

  const FlowPlan& plan_;
  const FlowGraph& flow_;
  CodeKey key_;
};

}  // namespace

std::string flow_key(const FlowPlan& plan) {
  const std::string compiler = llvm_build();
  return compiler.empty() ? "" : FlowKey(plan).run(compiler, llvm_processor());
}

}  // namespace kiln::jit
