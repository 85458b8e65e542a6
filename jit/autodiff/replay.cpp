// The program runs: what stands in for kernels, and which value of the functional graph each tensor has.
#include "jit/autodiff/replay.h"

#include <algorithm>
#include <map>

#include "jit/autodiff/custom_step.h"
#include "jit/autodiff/loop_step.h"
#include "jit/graph/custom.h"
#include "jit/graph/evaluate.h"
#include "jit/graph/layouts.h"
#include "tensor/backend.h"
#include "tensor/core_ops.h"
#include "tensor/functions.h"
#include "tensor/integers.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/record.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

// A tensor without elements that lies in memory of its own as the type says.
Tensor tensor_of(const Type& type) {
  const Layout layout = layout_of_type(type);
  if (!type.strides) {
    Tensor made = Tensor::without_elements(type.sizes, type.dtype, type.device);
    made.impl()->is_number = type.is_number;
    return made;
  }
  const Dim end = extent(at_hints(layout)).second;
  return Tensor::alias(Tensor::without_elements(Dims{end}, type.dtype, type.device), layout);
}

// Where an input that is differentiated came from, in the eyes of the program.
class InputNode final : public tape::Node {
 public:
  explicit InputNode(const TensorType& type) : Node(tape::next_sequence()) { output_types.push_back(type); }
  std::string name() const override { return "an input"; }
  Tensors backward(Inputs, std::span<const bool>) override { return {}; }

 private:
  void visit_kept(ReferenceVisitor&) const override {}
};

}  // namespace

Replay::Watch::Watch(Replay& replay)
    : Level(LevelKind::Trace, levels::new_level(Transform::Trace)), replay_(replay) {}

Tensors Replay::Watch::bind(const Op& op, Inputs inputs, const Attrs& attrs) {
  const levels::Below below(*this);
  return kiln::bind(op, inputs, attrs);
}
Tensor Replay::Watch::write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType&) {
  const levels::Below below(*this);
  return kiln::bind_inplace(op, inputs, attrs);
}
Tensor Replay::Watch::rearrange(const Op& op, Inputs inputs, const Attrs& attrs) {
  const levels::Below below(*this);
  return kiln::bind_inplace(op, inputs, attrs);
}

Replay::Replay(const Replayed& replayed, std::span<const Gradient> gradients)
    : program_(replayed.program),
      functional_(replayed.functional.graph),
      values_(replayed.functional.nodes),
      wanted_(replayed.wanted),
      producers_(functional_.producers()),
      run_(this),
      joint_(functional_) {
  add_symbols(run_, program_.hints);
  for (const SizeGuard& each : program_.size_guards) run_.scope().assume(each);
  watch_.emplace(*this);
  add_inputs();
  for (const Gradient& each : gradients) {
    Input input;
    input.role = Role::Grad;
    gradients_.push_back(tensor_of(each.type));
    remember(gradients_.back(), joint_.input("grad_" + each.name, each.type, input));
  }
  run_program();
  read_tape();
}

Replay::~Replay() = default;

Graph Replay::finish() {
  Graph graph = joint_.finish();
  add_size_guards(graph.size_guards, run_.scope().guards());
  return graph;
}

void Replay::take_names(const Graph& like) {
  const std::size_t inputs = like.inputs.size();
  if (joint_.graph.values.size() != like.values.size() + gradients_.size())
    throw OpError(ErrorKind::Capture, "the program gives other values when it runs again");
  for (std::size_t v = 0; v < like.values.size(); ++v) {
    std::string& name = joint_.graph.values[v < inputs ? v : v + gradients_.size()].name;
    if (name.empty() && !like.values[v].name.empty()) name = joint_.fresh(like.values[v].name);
  }
}

// ---- Inputs ----

// Those that share memory do so here, too. How much memory lies behind an input is not known: a view that
// counts places may reach what its type does not show.
void Replay::add_inputs() {
  static constexpr std::int64_t kElements = std::int64_t{1} << 50;
  tensors_.resize(program_.values.size());
  tape_.inputs.resize(program_.inputs.size());
  inputs_.resize(program_.inputs.size());
  std::map<int, Tensor> shared;
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    const Type& type = program_.values[i].type;
    const auto& storage = program_.inputs[i].storage;
    Tensor own;
    Tensor& memory = storage ? shared[*storage] : own;
    if (!memory) memory = Tensor::without_elements(Dims{kElements}, type.dtype, type.device);
    Layout layout = layout_of_type(type);
    layout.offset += program_.inputs[i].offset;
    Tensor& x = tensors_[i];
    x = Tensor::alias(memory, std::move(layout));
    x.impl()->is_number = type.is_number;
    if (i >= wanted_.size() || !wanted_[i] || !is_differentiable(type.dtype)) continue;
    inputs_[i] = {Ref<tape::Node>(new InputNode(x.type())), 0};
    tape::start_history(x, inputs_[i]);
    stands_for(inputs_[i], static_cast<ValueId>(i));
  }
}

Tensor Replay::operand_tensor(const Operand& operand) const {
  if (operand.is_value()) return tensors_[as_index(operand.value)];
  if (!operand.is_number()) return {};
  const auto* size = std::get_if<Dim>(&operand.number);
  return size != nullptr && !size->is_known() ? Tensor::symbol(*size) : number_tensor(operand.number);
}

// ---- Nodes of the program ----

std::size_t Replay::producer(ValueId functional) const {
  const int made = producers_[as_index(functional)];
  return made < 0 ? 0 : as_index(made) + 1;
}

void Replay::copy_before(std::size_t functional_node) {
  while (copied_ < functional_node) joint_.copy(functional_.nodes[copied_++]);
}

void Replay::copy_with(std::span<const ValueId> values) {
  for (const ValueId id : values) copy_before(producer(id));
}

void Replay::run_program() {
  for (std::size_t k = 0; k < program_.nodes.size(); ++k) run_node(k);
  copy_before(functional_.nodes.size());
}

void Replay::run_node(std::size_t k) {
  const Node& node = program_.nodes[k];
  const Functionalized::Values& values = values_[k];
  if (node.writes_storage())
    throw OpError(ErrorKind::Capture, "a tensor comes to lie elsewhere, of which the tape knows nothing");
  SmallVector<Tensor, 4> operands;
  for (const Operand& each : node.operands) operands.push_back(operand_tensor(each));
  for (std::size_t i = 0; i < values.operands.size(); ++i) {
    if (!values.operands[i].is_value()) continue;
    copy_with({&values.operands[i].value, 1});
    if (operands[i]) remember(operands[i], joint_.at(values.operands[i].value));
  }
  Current current{&node, &values, false};
  current.is_body = !node.is_constant() && differentiates_by_body(*node.op) && tape::any_history(operands);
  if (current.is_body && !values.results.empty()) {
    const std::size_t whole = producer(values.results[0]) - 1;
    copy_before(whole);
    like_ = functional_.nodes[whole];
  }
  notes_ = current.is_body;
  current_ = &current;
  Tensors made = apply(node, operands);
  if (current.is_body) end_body(made);
  current_ = nullptr;
  notes_ = false;
  copy_with(values.results);
  for (std::size_t j = 0; j < made.size(); ++j) {
    tensors_[as_index(node.outputs[j])] = made[j];
    if (j >= values.results.size()) continue;
    const ValueId id = joint_.at(values.results[j]);
    if (node.writes()) continue;
    remember(made[j], id);
    first_values_.try_emplace(made[j].impl(), id);
  }
  note_histories(operands, made, node, values);
}

Tensors Replay::apply(const Node& node, Inputs operands) {
  if (node.is_constant()) return {tensor_of(program_.values[as_index(node.outputs[0])].type)};
  if (custom_function(*node.op) != nullptr) return apply_custom(node, operands);
  if (loop_function(*node.op) != nullptr) return apply_loop(node, operands);
  const Attrs attrs = to_attrs(*node.op, node.attrs);
  if (node.writes()) return {bind_inplace(*node.op, operands, attrs)};
  Tensors made = kiln::bind(*node.op, operands, attrs);
  if (node.form != Form::Copy) return made;
  copy_with(current_->values->results);
  for (std::size_t j = 0; j < made.size(); ++j) {
    remember(made[j], joint_.at(current_->values->results[j]));
    made[j] = ops::clone(made[j]);
  }
  return made;
}

// Gradients go to its arguments: what such a function reads from outside is no argument of it.
Tensors Replay::apply_custom(const Node& node, Inputs operands) {
  const std::size_t arguments = custom_function(*node.op)->argument_count();
  Tensors made = results_of(node, *current_->values, false);
  if (!tape::any_history(operands.first(arguments))) return made;
  auto* const step = new CustomStep(*node.op, to_attrs(*node.op, node.attrs), operands, arguments);
  const Ref<tape::Node> held(step);
  step->set_outputs(made);
  for (std::uint32_t j = 0; j < made.size(); ++j) {
    if (is_differentiable(made[j].dtype()) && has_gradient(*node.op, j))
      tape::start_history(made[j], {held, j});
  }
  return made;
}

Tensors Replay::apply_loop(const Node& node, Inputs operands) {
  Tensors made = results_of(node, *current_->values, false);
  if (!tape::any_history(operands)) return made;
  LoopStep::record(owner_of_loop(*node.op), operands, made);
  return made;
}

// What the op of the node gives, before it is written into anything.
Tensors Replay::results_of(const Node& node, const Functionalized::Values& values, bool is_write) {
  copy_with(values.results);
  Tensors made;
  for (std::size_t j = 0; j < values.results.size(); ++j) {
    const Graph& graph = is_write ? functional_ : program_;
    made.push_back(tensor_of(graph.values[as_index(is_write ? values.results[j] : node.outputs[j])].type));
    remember(made.back(), joint_.at(values.results[j]));
  }
  return made;
}

// The values that the body made are those of the node, which is not copied.
void Replay::end_body(Tensors& made) {
  const std::vector<ValueId>& results = current_->values->results;
  if (results.empty()) return;
  const std::size_t whole = producer(results[0]) - 1;
  copied_ = std::max(copied_, whole + 1);
  for (std::size_t j = 0; j < results.size(); ++j) {
    const bool is_known = current_->written != Operand::kAbsent;
    const ValueId id = is_known ? current_->written : operand_of(made[j]).value;
    joint_.map(results[j], id);
    std::string& name = joint_.graph.values[as_index(id)].name;
    const std::string& wanted = functional_.values[as_index(results[j])].name;
    if (name.empty() && !wanted.empty()) name = joint_.fresh(wanted);
  }
}

// ---- In place of kernels ----

Tensors Replay::run(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (current_ != nullptr && !current_->is_body && !current_->was_run && &op == current_->node->op &&
      op.view == nullptr) {
    current_->was_run = true;
    return results_of(*current_->node, *current_->values, current_->node->writes());
  }
  if (op.view != nullptr && !notes_) return apply_view(op, inputs[0], attrs);
  // A write keeps parts of large tensors in memory of their own, and the copy of a view is that view's value.
  const bool may_copy =
      current_ != nullptr && (current_->node->writes() || current_->node->form == Form::Copy);
  if (may_copy && &op == &core_ops().clone) {
    if (const ValueId id = recall(inputs[0]); id != Operand::kAbsent) {
      const Tensor copy = tensor_of({inputs[0].dtype(), inputs[0].device(), inputs[0].sizes(), false, {}});
      remember(copy, id);
      return {copy};
    }
  }
  const bool is_body = differentiates_by_body(op) && !has_kernel(op, inputs);
  return is_body ? op.decompose(op, inputs, attrs) : note(op, inputs, attrs);
}

void Replay::write(const Op& op, Inputs inputs, const Attrs&) {
  const Tensor& x = inputs[0];
  if (current_ == nullptr) throw OpError(ErrorKind::Capture, "a derivative writes to a tensor");
  const bool is_node = !current_->is_body && !current_->was_run && &op == current_->node->op;
  ValueId id = Operand::kAbsent;
  if (is_node) {
    current_->was_run = true;
    copy_with(current_->values->results);
    id = joint_.at(current_->values->results[0]);
  } else if (&op == &core_ops().copy) {
    id = recall(inputs[1]);
    if (current_->is_body) current_->written = id;
  }
  x.storage()->replace(Buffer::without_memory(x.storage()->bytes(), x.device()));
  if (id == Operand::kAbsent || joint_.type(id).dtype != x.dtype()) return;
  remember(x, id);
}

Tensors Replay::note(const Op& op, Inputs inputs, const Attrs& attrs) {
  const SizeScope::Reason reason(op.name());
  Call call;
  for (const Tensor& each : inputs) call.operands.push_back(operand_of(each));
  if (op.view != nullptr) call.operands[0] = laid_out(call.operands[0], inputs[0]);
  const Tensors made =
      op.view != nullptr ? apply_view(op, inputs[0], attrs) : results_without_elements(op, inputs, attrs);
  Node node;
  node.op = &op;
  node.attrs = attr_list(attrs);
  node.operands = call.operands;
  node.place = like_.place;
  node.origin = like_.origin;
  std::vector<Type> result_types;
  for (const Tensor& each : made) result_types.push_back(to_type(each.type()));
  call.results = joint_.append(std::move(node), std::move(result_types));
  for (std::size_t j = 0; j < made.size(); ++j) {
    remember(made[j], call.results[j]);
    noted_.push_back(made[j]);
    if (current_ != nullptr) body_calls_.emplace_back(made[j], call);
  }
  return made;
}

// A value of the functional graph may lie in memory otherwise than the tensor of the program. A view of a
// tensor row by row needs the elements row by row.
Operand Replay::laid_out(const Operand& value, const Tensor& x) {
  if (!value.is_value() || !x.is_contiguous()) return value;
  const Layout layout = at_hints(layout_of(joint_.graph, joint_producers_.of(joint_.graph), value.value));
  if (is_contiguous(layout)) return value;
  return Operand::of(joint_.apply(core_ops().clone, {value}, attr_list(Attrs(core_ops().clone)), like_)[0]);
}

// ---- Values ----

void Replay::remember(const Tensor& x, ValueId id) {
  std::vector<ValueInMemory>& values = in_memory_[x.storage()->buffer()->id()];
  std::erase_if(values, [&](const ValueInMemory& each) { return each.id == id; });
  values.push_back({x.layout(), x.dtype(), id});
  by_tensor_[x.impl()] = {x.storage()->buffer()->id(), id};
}

// The value of a tensor. The tape gives back what it kept as new tensors, which are known by their memory.
// Where several values are the same elements, it is one that the rule that runs was given, else the last.
ValueId Replay::recall(const Tensor& x) const {
  const std::uint64_t buffer = x.storage()->buffer()->id();
  const auto by_tensor = by_tensor_.find(x.impl());
  if (by_tensor != by_tensor_.end() && by_tensor->second.buffer == buffer) return by_tensor->second.id;
  const auto found = in_memory_.find(buffer);
  if (found == in_memory_.end()) return Operand::kAbsent;
  ValueId last = Operand::kAbsent;
  for (const ValueInMemory& each : found->second) {
    if (each.dtype != x.dtype() || !same(each.layout, x.layout())) continue;
    last = each.id;
    if (reading_ < 0) continue;
    const auto& kept = tape_.nodes[as_index(reading_)].kept;
    const auto is_it = [&](const auto& one) { return one.first == each.id; };
    if (std::any_of(kept.begin(), kept.end(), is_it)) return each.id;
  }
  return last;
}

Operand Replay::operand_of(const Tensor& x) {
  if (!x) return {};
  if (const ValueId id = recall(x); id != Operand::kAbsent) return Operand::of(id);
  if (x.is_number()) return number_operand(x);
  if (!x.has_elements() && x.numel() != 0) throw OpError(ErrorKind::Capture, "a tensor without a value");
  Node constant;
  constant.constant = tape::share_value(x);
  const ValueId id = joint_.append(std::move(constant), {to_type(x.type())})[0];
  remember(x, id);
  noted_.push_back(x);
  return Operand::of(id);
}

}  // namespace kiln::jit
