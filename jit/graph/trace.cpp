#include "jit/graph/trace.h"

#include <algorithm>
#include <unordered_map>

#include "jit/graph/custom.h"
#include "jit/graph/evaluate.h"
#include "jit/graph/loop.h"
#include "tensor/backend.h"
#include "tensor/functions.h"
#include "tensor/tape/meta.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

// Notes the ops that would be computed. Views have the layouts that they will have, other results new memory.
class Notes final : public StandIn {
 public:
  explicit Notes(bool (*expands)(const Op&)) : expands_(expands) {}

  void add_operands(std::span<const Tensor> operands) {
    fragment.inputs = operands.size();
    for (const Tensor& each : operands) add_slot(each);
  }

  Tensors run(const Op& op, Inputs inputs, const Attrs& attrs) override {
    if (expands_(op)) return run_body(op, inputs, attrs);
    const SizeScope::Reason reason(op.name());
    Fragment::Step step{&op, attr_list(attrs), {}, 0, {}};
    for (const Tensor& each : inputs) step.operands.push_back(operand_of(each));
    Tensors results =
        op.view != nullptr ? apply_view(op, inputs[0], attrs) : results_without_elements(op, inputs, attrs);
    step.results = results.size();
    fragment.steps.push_back(std::move(step));
    for (const Tensor& each : results) add_slot(each);
    return results;
  }
  void write(const Op&, Inputs, const Attrs&) override {
    throw OpError(ErrorKind::Capture, "steps that write are no fragment");
  }

  Operand operand_of(const Tensor& x) {
    if (!x) return {};
    const auto found = slots_.find(x.impl());
    if (found != slots_.end()) return Operand::of(found->second);
    if (x.is_number()) return number_operand(x);
    if (!x.has_elements() && x.numel().hint() != 0)
      throw OpError(ErrorKind::Capture, "a tensor comes from where it cannot be followed");
    fragment.steps.push_back({nullptr, {}, {}, 1, tape::share_value(x)});
    return Operand::of(add_slot(x));
  }

  Fragment fragment;

 private:
  int add_slot(const Tensor& x) {
    const int slot = static_cast<int>(kept_.size());
    kept_.push_back(x);
    if (x) slots_.emplace(x.impl(), slot);
    return slot;
  }

  bool (*expands_)(const Op&);
  std::unordered_map<const TensorImpl*, int> slots_;
  std::vector<Tensor> kept_;  // so that no two tensors are ever at one address
};

// Memory is as long as the layout reaches in this call.
Tensor operand_tensor(const TraceOperand& operand) {
  if (operand.operand.is_value()) {
    const Layout layout = operand.layout();
    const std::int64_t end = extent(at_hints(layout)).second;
    const Tensor memory =
        Tensor::without_elements(Dims{std::max<std::int64_t>(end, 1)}, operand.dtype, operand.device);
    const Tensor operand_in_body = Tensor::alias(memory, layout);
    operand_in_body.impl()->is_number = operand.is_number;
    return operand_in_body;
  }
  if (!operand.operand.is_number()) return {};
  const auto* size = std::get_if<Dim>(&operand.operand.number);
  if (size != nullptr && !size->is_known()) return Tensor::symbol(*size);
  return number_tensor(operand.operand.number);
}

}  // namespace

void add_symbols(SymbolicRun& run, const SymbolValues& hints) {
  for (const auto& [symbol, hint] : hints)
    run.scope().add(symbol, hint,
                    hint < SizeScope::kLowestSize ? SizeScope::kAnyInt : SizeScope::kLowestSize);
}

Operand number_operand(const Tensor& number) {
  if (number.is_symbol()) return Operand::of_number(number.impl()->symbol);
  if (number.dtype() == DType::Bool) return Operand::of_number(number.item_bool());
  if (is_float(number.dtype())) return Operand::of_number(number.item_float());
  return Operand::of_number(Dim(number.item_int()));
}

Tensors results_without_elements(const Op& op, Inputs inputs, const Attrs& attrs) {
  std::vector<TensorType> types;
  for (const Tensor& each : inputs) types.push_back(each ? each.type() : evaluate(absent_type(), {}));
  Tensors results;
  for (const TensorType& type : op.infer(types, attrs)) {
    const auto depends_on_data = [](Dim size) { return same(size, -1); };
    if (std::any_of(type.sizes.begin(), type.sizes.end(), depends_on_data))
      throw OpError(ErrorKind::Capture, "the size of a result of " + spoken_name(op) + " depends on data");
    results.push_back(Tensor::without_elements(type.sizes, type.dtype, type.device));
    results.back().impl()->is_number = type.is_number;
  }
  return results;
}

int Fragment::view_root(std::size_t output) const {
  std::vector<int> maker;  // the step that makes a slot, -1 for inputs
  maker.assign(inputs, -1);
  for (std::size_t s = 0; s < steps.size(); ++s)
    maker.insert(maker.end(), steps[s].results, static_cast<int>(s));
  int slot = outputs[output].value;
  while (slot >= 0 && maker[static_cast<std::size_t>(slot)] >= 0) {
    const Step& step = steps[static_cast<std::size_t>(maker[static_cast<std::size_t>(slot)])];
    if (step.op == nullptr || step.op->view == nullptr) break;
    slot = step.operands[0].value;
  }
  return slot;
}

bool is_composite(const Op& op) { return op.lowering == Lowering::Composite && op.view == nullptr; }
bool differentiates_by_body(const Op& op) {
  return op.vjp.missing == kComposite && !custom_function(op) && !loop_function(op);
}
bool expands_nothing(const Op&) { return false; }

std::optional<Fragment> trace(const Body& body, std::span<const TraceOperand> operands,
                              const SymbolValues& hints, bool (*expands)(const Op&)) {
  const NoLevels apart;
  Notes notes(expands);
  SymbolicRun run(&notes);
  add_symbols(run, hints);
  try {
    std::vector<Tensor> tensors;
    for (const TraceOperand& each : operands) tensors.push_back(operand_tensor(each));
    notes.add_operands(tensors);
    for (const Tensor& each : body(tensors)) notes.fragment.outputs.push_back(notes.operand_of(each));
    notes.fragment.guards = run.scope().guards();
    return std::move(notes.fragment);
  } catch (const OpError& error) {  // it asks for elements, or writes
    if (error.kind() != ErrorKind::Capture) throw;
    return std::nullopt;
  }
}

namespace {
Operand in_slots(const std::vector<Operand>& slots, const Operand& operand) {
  return operand.is_value() ? slots[static_cast<std::size_t>(operand.value)] : operand;
}
}  // namespace

std::vector<Operand> inline_steps(Builder& builder, const Fragment& fragment, std::vector<Operand> operands,
                                  const Node& like, std::string name) {
  std::vector<Operand> slots = std::move(operands);
  add_size_guards(builder.graph.size_guards, fragment.guards);
  for (std::size_t s = 0; s < fragment.steps.size(); ++s) {
    const Fragment::Step& step = fragment.steps[s];
    const bool last = s + 1 == fragment.steps.size();
    if (step.op == nullptr) {
      slots.push_back(Operand::of(builder.constant(step.constant)));
      continue;
    }
    std::vector<Operand> given;
    for (const Operand& each : step.operands) given.push_back(in_slots(slots, each));
    for (const ValueId id : builder.apply(*step.op, std::move(given), step.attrs, like, last ? name : "")) {
      slots.push_back(Operand::of(id));
    }
  }
  return slots;
}

std::vector<Operand> inline_fragment(Builder& builder, const Fragment& fragment,
                                     std::vector<Operand> operands, const Node& like, std::string name) {
  const std::vector<Operand> slots =
      inline_steps(builder, fragment, std::move(operands), like, std::move(name));
  std::vector<Operand> outputs;
  for (const Operand& each : fragment.outputs) outputs.push_back(in_slots(slots, each));
  return outputs;
}

}  // namespace kiln::jit
