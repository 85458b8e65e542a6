#include "onnx/import/recording.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "jit/graph/rewrite.h"
#include "jit/graph/trace.h"
#include "tensor/view.h"

namespace kiln::onnx {
namespace {

// How many nodes a graph may have: a loop that is unrolled says so before memory is full.
constexpr std::size_t kMostNodes = 200'000;

std::int64_t bytes_of(const TensorType& type) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(type.dtype));
  for (const Dim size : type.sizes) {
    if (!size.is_known() || size.known() < 0) return 0;  // a kernel that counts says how many there are
    if (__builtin_mul_overflow(bytes, size.known(), &bytes)) return std::numeric_limits<std::int64_t>::max();
  }
  return bytes;
}

std::vector<TensorType> types_of(Inputs inputs) {
  std::vector<TensorType> types;
  for (const Tensor& each : inputs)
    types.push_back(each ? each.type() : jit::evaluate(jit::absent_type(), {}));
  return types;
}

}  // namespace

UnknownElements::UnknownElements(const std::string& message, std::vector<std::string> follows)
    : OpError(ErrorKind::Capture, message), follows_(std::move(follows)) {}

std::string graph_name(const std::string& name) {
  std::string word;
  for (const char c : name) word += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (word.empty()) return word;
  const bool is_number = std::isdigit(static_cast<unsigned char>(word[0])) != 0;
  return is_number ? "v" + word : word;
}

int Recording::add_slot(const Tensor& x, std::string name, int step) {
  const int slot = static_cast<int>(slots_.size());
  slots_.push_back({x, std::move(name), step, false, {}});
  return slot;
}

Tensor Recording::add_argument(const std::string& name, DType dtype, const Dims& sizes) {
  Tensor x = Tensor::without_elements(sizes, dtype, default_device());
  const int slot = add_slot(x, name, -1);
  slots_[static_cast<std::size_t>(slot)].is_argument = true;
  slots_by_tensor_.emplace(x.impl(), slot);
  return x;
}

Tensor Recording::add_weight(const std::string& name, const Tensor& weight) {
  Tensor x = Tensor::without_elements(weight.sizes(), weight.dtype(), weight.device());
  const int slot = add_slot(x, name, -1);
  slots_[static_cast<std::size_t>(slot)].weight = weight;
  slots_by_tensor_.emplace(x.impl(), slot);
  return x;
}

std::vector<std::string> Recording::followed(Inputs tensors) const {
  std::vector<int> open;
  std::vector<bool> seen(slots_.size(), false);
  const auto reach = [&](int slot) {
    if (slot < 0 || seen[static_cast<std::size_t>(slot)]) return;
    seen[static_cast<std::size_t>(slot)] = true;
    open.push_back(slot);
  };
  for (const Tensor& each : tensors) {
    const auto found = each ? slots_by_tensor_.find(each.impl()) : slots_by_tensor_.end();
    if (found != slots_by_tensor_.end()) reach(found->second);
  }
  std::vector<std::string> names;
  while (!open.empty()) {
    const Slot& slot = slots_[static_cast<std::size_t>(open.back())];
    open.pop_back();
    if (slot.is_argument) names.push_back(slot.name);
    if (slot.step < 0) continue;
    for (const jit::Operand& each : steps_[static_cast<std::size_t>(slot.step)].operands) reach(each.value);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void Recording::set_name(const Tensor& x, const std::string& name) {
  const auto found = slots_by_tensor_.find(x.impl());
  if (found == slots_by_tensor_.end()) return;
  std::string& known = slots_[static_cast<std::size_t>(found->second)].name;
  if (known.empty()) known = name;
}

Tensors Recording::run(const Op& op, Inputs inputs, const Attrs& attrs) {
  const bool is_computed =
      !has_symbols(attrs) &&
      std::all_of(inputs.begin(), inputs.end(), [&](const Tensor& x) { return !x || is_known(x); });
  if (is_computed && (is_call_ || !op.draws())) return compute(op, inputs, attrs);
  try {
    return note(op, inputs, attrs);
  } catch (const OpError& error) {
    if (error.kind() != ErrorKind::Capture || dynamic_cast<const UnknownElements*>(&error) != nullptr) throw;
    throw UnknownElements(error.message(), followed(inputs));
  }
}

void Recording::write(const Op&, Inputs, const Attrs&) {
  throw InternalError("an operator of ONNX is written with an op that writes");
}

Tensors Recording::compute(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (op.view == nullptr) {
    const std::vector<TensorType> given = types_of(inputs);
    for (const TensorType& each : op.infer(given, attrs)) {
      const std::int64_t bytes = bytes_of(each);
      if (bytes > bytes_left_)
        throw OpError(ErrorKind::OutOfMemory,
                      "a value " + to_string(each) +
                          " that the model computes from constants takes more memory than "
                          "an import may");
      bytes_left_ -= bytes;
    }
  }
  const SymbolicRun apart;
  return run_eager(op, inputs, attrs);
}

Tensors Recording::note(const Op& op, Inputs inputs, const Attrs& attrs) {
  const SizeScope::Reason reason(op.name());
  // What is made of views, as `narrow`, is a view: what may be done with its result depends on its layout.
  if (op.view == nullptr && op.decompose != nullptr && op.family == "shape")
    return op.decompose(op, inputs, attrs);
  if (steps_.size() >= kMostNodes)
    throw OpError(ErrorKind::Value,
                  "the graph of the model has more than " + std::to_string(kMostNodes) + " nodes");
  Step step{&op, jit::attr_list(attrs), {}, {}, {}, place_};
  for (const Tensor& each : inputs) step.operands.push_back(operand_of(each));
  Tensors results = op.view != nullptr ? apply_view(op, inputs[0], attrs)
                                       : jit::results_without_elements(op, inputs, attrs);
  for (const Tensor& each : results) {
    const int slot = add_slot(each, "", static_cast<int>(steps_.size()));
    slots_by_tensor_.emplace(each.impl(), slot);
    step.results.push_back(slot);
  }
  steps_.push_back(std::move(step));
  return results;
}

jit::Operand Recording::operand_of(const Tensor& x) {
  if (!x) return {};
  const auto value = slots_by_tensor_.find(x.impl());
  if (value != slots_by_tensor_.end()) return jit::Operand::of(value->second);
  if (x.is_number()) return jit::number_operand(x);
  const auto [found, is_new] = constants_.try_emplace(x.impl(), static_cast<int>(slots_.size()));
  if (is_new) {
    Step step;
    step.constant = x;
    step.place = place_;
    step.results.push_back(add_slot(x, "", static_cast<int>(steps_.size())));
    steps_.push_back(std::move(step));
  }
  return jit::Operand::of(found->second);
}

std::vector<bool> Recording::needed_slots(std::span<const jit::Operand> results) const {
  std::vector<bool> needed(slots_.size(), false);
  const auto need = [&needed](const jit::Operand& operand) {
    if (operand.is_value()) needed[static_cast<std::size_t>(operand.value)] = true;
  };
  for (const jit::Operand& each : results) need(each);
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const bool draws = step->op != nullptr && step->op->draws();
    const bool is_read = std::any_of(step->results.begin(), step->results.end(),
                                     [&](int slot) { return needed[static_cast<std::size_t>(slot)]; });
    if (!draws && !is_read) continue;
    for (const int slot : step->results) needed[static_cast<std::size_t>(slot)] = true;
    for (const jit::Operand& each : step->operands) need(each);
  }
  return needed;
}

jit::Graph Recording::finish(const std::string& name, Inputs results, std::vector<Tensor>& weights) {
  std::vector<jit::Operand> outputs;
  for (const Tensor& each : results) outputs.push_back(operand_of(each));
  const std::vector<bool> needed = needed_slots(outputs);
  jit::Builder builder;
  builder.graph.name = graph_name(name);
  const SymbolicRun& run = *SymbolicRun::current();
  builder.graph.hints = run.scope().hints();
  builder.graph.size_guards = run.scope().guards();
  std::vector<jit::ValueId> values(slots_.size(), jit::Operand::kAbsent);
  const auto in_graph = [&values](jit::Operand operand) {
    return operand.is_value() ? jit::Operand::of(values[static_cast<std::size_t>(operand.value)]) : operand;
  };
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.step >= 0 || (!slot.is_argument && !needed[i])) continue;
    jit::Input input;
    input.role = slot.is_argument ? jit::Role::Argument : jit::Role::Parameter;
    values[i] = builder.input(graph_name(slot.name), jit::to_type(slot.tensor.type()), input);
    weights.push_back(slot.weight);
  }
  for (const Step& step : steps_) {
    if (!needed[static_cast<std::size_t>(step.results[0])]) continue;
    std::vector<std::string> names;
    for (const int slot : step.results)
      names.push_back(graph_name(slots_[static_cast<std::size_t>(slot)].name));
    std::vector<jit::ValueId> made;
    if (step.op == nullptr) {
      made = {builder.constant(step.constant, names[0])};
    } else {
      jit::Node node;
      node.op = step.op;
      node.attrs = step.attrs;
      node.place = step.place;
      for (const jit::Operand& each : step.operands) node.operands.push_back(in_graph(each));
      made = builder.append(std::move(node), names);
    }
    for (std::size_t k = 0; k < made.size(); ++k) values[static_cast<std::size_t>(step.results[k])] = made[k];
  }
  for (const jit::Operand& each : outputs) builder.graph.outputs.push_back(in_graph(each));
  return std::move(builder.graph);
}

}  // namespace kiln::onnx
