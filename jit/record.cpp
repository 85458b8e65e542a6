#include "jit/record.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "jit/rewrite.h"
#include "jit/shape_rules.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

// As it lies in memory; strides are said where they are not those the op gives.
Type type_of(const Tensor& x, bool strides_follow) {
  Type type = to_type(x.type());
  if (!strides_follow && !x.is_contiguous()) type.strides = to_sizes(x.strides());
  return type;
}

}  // namespace

Recorder::Recorder(std::string graph_name, FindInput find_input)
    : Level(LevelKind::Trace, levels::new_level()),
      graph_name_(std::move(graph_name)),
      find_input_(std::move(find_input)),
      records_gradients_(grad_enabled()) {}

bool Recorder::add_input(const Tensor& x) {
  auto found = find_input_(x);
  if (!found) return false;
  ids_.emplace(x.impl(), input_id(inputs_.size()));
  inputs_.push_back(x);
  Input input;
  input.role = found->role;
  input_roles_.push_back(input);
  input_values_.push_back({std::move(found->name), type_of(x, false)});
  if (found->sizes) {
    Type type = input_values_.back().type;
    type.sizes = std::move(*found->sizes);
    symbolic_types_.emplace(input_id(inputs_.size() - 1), std::move(type));
  }
  return true;
}

void Recorder::add_number(const Tensor& number, std::string name) {
  ids_.emplace(number.impl(), input_id(inputs_.size()));
  inputs_.push_back(number);
  input_roles_.emplace_back();
  input_values_.push_back({std::move(name), to_type(number.type())});
}

Sizes Recorder::sizes_of(const Tensor& x) const {
  if (const auto id = ids_.find(x.impl()); id != ids_.end()) {
    const auto found = symbolic_types_.find(id->second);
    if (found != symbolic_types_.end()) return found->second.sizes;
  }
  return to_sizes(x.sizes());
}

// A number that stands for an input in this instruction.
const Tensor* Recorder::expected_number(const Tensor& x) {
  for (Expected& each : expected) {
    const Tensor& number = each.number;
    if (!number || number.dtype() != x.dtype()) continue;
    const bool same = is_float(x.dtype()) ? same_number(number.item_float(), x.item_float())
                                          : number.item_int() == x.item_int();
    if (!same) continue;
    each.used = true;
    return &each.number;
  }
  return nullptr;
}

std::vector<GraphAttr> Recorder::symbolic_attrs(const Op& op, const std::vector<GraphAttr>& attrs) {
  std::vector<GraphAttr> result = attrs;
  const auto replace = [&](Size& size) {
    if (!size.is_constant()) return false;
    for (Expected& each : expected) {
      if (each.size.is_constant() || each.value != size.constant()) continue;
      size = each.size;
      each.used = true;
      return true;
    }
    return false;
  };
  bool any = false;
  std::size_t at = 0;
  for (const Parameter& parameter : op.signature.parameters) {
    using K = ArgKind;
    if (parameter.kind == K::Tensor || parameter.kind == K::OptionalTensor ||
        parameter.kind == K::TensorList || parameter.kind == K::OptionalTensorList)
      continue;
    GraphAttr& attr = result[at++];
    if (parameter.kind == K::Int || parameter.kind == K::Number) {
      if (auto* size = std::get_if<Size>(&attr)) any = replace(*size) || any;
    } else if (parameter.kind == K::Ints) {
      if (auto* sizes = std::get_if<Sizes>(&attr)) {
        for (Size& each : *sizes) any = replace(each) || any;
      }
    }
  }
  return any ? result : std::vector<GraphAttr>();
}

Type Recorder::symbolic_type(const Operand& operand) const {
  if (operand.is_number()) {
    Type type = absent_type();
    if (std::holds_alternative<Size>(operand.number)) type.dtype = DType::I64;
    if (std::holds_alternative<double>(operand.number)) type.dtype = DType::F64;
    return type;
  }
  if (operand.value == Operand::kAbsent) return absent_type();
  const auto found = symbolic_types_.find(operand.value);
  if (found != symbolic_types_.end()) return found->second;
  const int id = operand.value;
  return id < 0 ? input_values_[static_cast<std::size_t>(-id - 10)].type
                : results_[static_cast<std::size_t>(id)].type;
}

// The types of a node's results where sizes are symbols. A size that follows no expression is what it is in
// this call; whoever runs the graph with other values finds that out (Executable::misfit).
void Recorder::find_symbolic(const Node& node) {
  if (node.is_constant()) return;
  std::vector<GraphAttr> attrs = symbolic_attrs(*node.op, node.attrs);
  const bool in_attrs = !attrs.empty();
  if (in_attrs) symbolic_attrs_[nodes_.size()] = attrs;
  const bool in_operands = std::any_of(node.operands.begin(), node.operands.end(), [&](const Operand& each) {
    return symbolic_types_.contains(each.value);
  });
  if (!in_attrs && !in_operands) return;
  std::vector<Type> operands;
  for (const Operand& each : node.operands) operands.push_back(symbolic_type(each));
  if (node.form == Form::Write && !node.writes_layout()) {
    symbolic_types_[node.outputs[0]] = operands[0];
    return;
  }
  const std::vector<Type> types =
      infer_types(*node.op, operands, in_attrs ? attrs : node.attrs, hints_).types;
  for (std::size_t k = 0; k < node.outputs.size() && k < types.size(); ++k) {
    const Sizes& sizes = types[k].sizes;
    if (std::all_of(sizes.begin(), sizes.end(), [](const Size& s) { return s.is_constant(); })) continue;
    symbolic_types_[node.outputs[k]] = types[k];
  }
}

void Recorder::set_name(const Tensor& x, const std::string& name) {
  const auto found = ids_.find(x.impl());
  if (found == ids_.end() || found->second < 0) return;
  std::string& own = results_[static_cast<std::size_t>(found->second)].name;
  if (own.empty()) own = name;
}

void Recorder::stop_noting(std::string_view what) {
  if (trouble_.empty()) trouble_ = what;
}

Operand Recorder::operand_of(const Tensor& x) {
  if (!x) return {};
  if (knows(x) || (!x.is_number() && add_input(x))) return {ids_.at(x.impl()), false};
  if (!x.is_number()) {
    stop_noting("a tensor comes from where it cannot be followed");
    return {};
  }
  if (const Tensor* number = expected_number(x)) return {ids_.at(number->impl()), false};
  if (x.dtype() == DType::Bool) return Operand::of_number(x.item_bool());
  if (is_float(x.dtype())) return Operand::of_number(x.item_float());
  return Operand::of_number(Size(x.item_int()));
}

Node Recorder::node_of(const Op& op, Form form, Inputs inputs, const Attrs& attrs) {
  Node node;
  node.op = &op;
  node.form = form;
  node.attrs = to_graph_attrs(attrs);
  node.place = place_;
  for (const Tensor& each : inputs) node.operands.push_back(operand_of(each));
  return node;
}

int Recorder::add_result(const Tensor& x, Type type) {
  const int id = static_cast<int>(results_.size());
  const auto [at, is_new] = ids_.try_emplace(x.impl(), id);
  if (!is_new) {
    renamings_.push_back({nodes_.size(), x.impl(), at->second});
    at->second = id;
  }
  kept_.push_back(x);
  results_.push_back({"", std::move(type)});
  return id;
}

void Recorder::note(Node node, Inputs results) {
  for (const Tensor& each : results) {
    const bool follow = node.is_view() || node.form == Form::Write;
    node.outputs.push_back(add_result(each, type_of(each, follow)));
  }
  if (!hints_.empty()) find_symbolic(node);
  nodes_.push_back(std::move(node));
}

// What runs without recording gradients, between inputs that have them, gives constants.
bool Recorder::loses_history(Inputs inputs) const {
  if (!records_gradients_ || grad_enabled()) return false;
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const Tensor& x) { return x && !x.is_number() && requires_grad(x); });
}

Tensor Recorder::without_history(const Tensor& x) {
  static const Op& kDetach = OpTable::get().at("detach");
  const Tensor detached = ops::detach(x);
  note(node_of(kDetach, Form::Plain, {&x, 1}, Attrs(kDetach)), {&detached, 1});
  return detached;
}

namespace {

// Do the sizes of the results follow from elements of these inputs, as those of an index by a mask do?
bool depends_on_data(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (op.view != nullptr || op.pointwise != nullptr || op.infer == nullptr) return false;
  std::vector<TensorType> types;
  for (const Tensor& each : inputs) types.push_back(each ? each.type() : evaluate(absent_type(), {}));
  for (const TensorType& type : op.infer(types, attrs)) {
    if (std::find(type.sizes.begin(), type.sizes.end(), -1) != type.sizes.end()) return true;
  }
  return false;
}

}  // namespace

Tensors Recorder::bind(const Op& op, Inputs inputs, const Attrs& attrs) {
  const levels::Below below(*this);
  Tensors results = kiln::bind(op, inputs, attrs);
  if (is_stopped()) return results;
  if (op.has(kDataDependent) || depends_on_data(op, inputs, attrs)) {
    stop_noting("the size of a result of " + std::string(op.name()) + " depends on data");
    return results;
  }
  // What gives back its operand (a cast to the same dtype) is no step.
  const bool nothing_new =
      std::all_of(results.begin(), results.end(), [&](const Tensor& x) { return knows(x); });
  if (nothing_new) return results;
  note(node_of(op, Form::Plain, inputs, attrs), results);
  if (!loses_history(inputs)) return results;
  for (const Tensor& each : results) {
    if (!is_float(each.dtype())) continue;
    const int plain = ids_[each.impl()];
    Node node;
    node.op = &OpTable::get().at("detach");
    node.attrs = to_graph_attrs(Attrs(*node.op));
    node.place = place_;
    node.operands.push_back({plain, false});
    note(std::move(node), {&each, 1});
  }
  return results;
}

// A write that is not recorded leaves the history of the memory it goes to as it was, which no value that is
// computed apart has. Leaves have none.
bool Recorder::keeps_history(const Tensor& target) const {
  if (!records_gradients_ || grad_enabled()) return false;
  const auto has_history = [](const Tensor& x) { return requires_grad(x) && !is_leaf(x); };
  return has_history(target) || (is_view(target) && has_history(target.impl()->origin->base));
}

Tensor Recorder::write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType&) {
  const levels::Below below(*this);
  const bool apart = loses_history({inputs.data(), 1});
  const Tensor result = kiln::bind_inplace(op, inputs, attrs);
  if (is_stopped()) return result;
  SmallVector<Tensor, 4> operands(inputs.begin(), inputs.end());
  if (keeps_history(inputs[0])) {
    stop_noting("a tensor with a history is written within no_grad");
    return result;
  }
  if (apart) operands[0] = without_history(inputs[0]);
  note(node_of(op, Form::Write, operands, attrs), {operands.data(), 1});
  return result;
}

Tensor Recorder::rearrange(const Op& op, Inputs inputs, const Attrs& attrs) {
  const levels::Below below(*this);
  Node node = node_of(op, Form::Write, inputs, attrs);
  Tensor result = kiln::bind_inplace(op, inputs, attrs);
  if (!is_stopped()) note(std::move(node), {&result, 1});
  return result;
}

// Its elements were written by the host: they are those of a constant, in memory of its own for each call.
Tensor Recorder::adopt(Tensor made) {
  const levels::Below below(*this);
  made = levels::adopt(std::move(made));
  if (is_stopped()) return made;
  const Tensor elements = ops::clone(made);
  Node constant;
  constant.constant = elements;
  constant.place = place_;
  note(std::move(constant), {&elements, 1});
  static const Op& kClone = OpTable::get().at("clone");
  note(node_of(kClone, Form::Plain, {&elements, 1}, Attrs(kClone)), {&made, 1});
  return made;
}

namespace {

// Inputs of one storage say so when some input is written, with where in it they begin.
void say_shared_memory(std::span<const Tensor> tensors, std::vector<Input>& inputs) {
  std::map<const Storage*, std::vector<std::size_t>> by_storage;
  for (std::size_t i = 0; i < tensors.size(); ++i) by_storage[tensors[i].storage().get()].push_back(i);
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [storage, members] : by_storage) {
    if (members.size() > 1 || tensors[members[0]].offset() != 0) groups.push_back(std::move(members));
  }
  std::sort(groups.begin(), groups.end());
  int number = 0;
  for (const std::vector<std::size_t>& members : groups) {
    for (const std::size_t i : members) {
      inputs[i].storage = number;
      inputs[i].offset = tensors[i].offset();
    }
    ++number;
  }
}

}  // namespace

// Puts symbols in the place of what they were in this call.
void Recorder::make_symbolic() {
  for (const auto& [id, type] : symbolic_types_) {
    Type& target = id < 0 ? input_values_[static_cast<std::size_t>(-id - 10)].type
                          : results_[static_cast<std::size_t>(id)].type;
    target.sizes = type.sizes;
  }
  for (auto& [node, attrs] : symbolic_attrs_) {
    if (node < nodes_.size()) nodes_[node].attrs = attrs;
  }
}

// Those of nodes that were cut off.
void Recorder::drop_unused_inputs(Inputs outputs) {
  std::vector<bool> used(inputs_.size());
  const auto use = [&](int id) {
    if (id <= -10) used[static_cast<std::size_t>(-id - 10)] = true;
  };
  for (const Node& node : nodes_) {
    for (const Operand& each : node.operands) use(each.value);
  }
  for (const Tensor& each : outputs) use(ids_.at(each.impl()));
  std::vector<int> now(inputs_.size());
  std::size_t kept = 0;
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    if (!used[k]) continue;
    now[k] = input_id(kept);
    ids_[inputs_[k].impl()] = ids_[inputs_[k].impl()] < 0 ? now[k] : ids_[inputs_[k].impl()];
    if (kept != k) {
      inputs_[kept] = inputs_[k];
      input_roles_[kept] = input_roles_[k];
      input_values_[kept] = std::move(input_values_[k]);
    }
    ++kept;
  }
  for (Node& node : nodes_) {
    for (Operand& each : node.operands) {
      if (each.value <= -10) each.value = now[static_cast<std::size_t>(-each.value - 10)];
    }
  }
  inputs_.resize(kept);
  input_roles_.resize(kept);
  input_values_.resize(kept);
}

Graph Recorder::take(const Mark& until, Inputs outputs, bool symbolic) {
  for (; !renamings_.empty() && renamings_.back().nodes >= until.nodes; renamings_.pop_back())
    ids_[renamings_.back().tensor] = renamings_.back().id;
  nodes_.resize(until.nodes);
  if (symbolic) make_symbolic();
  drop_unused_inputs(outputs);
  Graph graph;
  graph.name = graph_name_;
  if (symbolic) graph.hints = hints_;
  graph.inputs = std::move(input_roles_);
  const auto count = static_cast<int>(inputs_.size());
  const auto renumbered = [count](int id) { return id < 0 ? -id - 10 : id + count; };
  graph.values = std::move(input_values_);
  graph.values.insert(graph.values.end(), std::make_move_iterator(results_.begin()),
                      std::make_move_iterator(results_.begin() + static_cast<std::ptrdiff_t>(until.results)));
  // Variables that were assigned again, and those of inlined functions.
  std::unordered_set<std::string> names;
  for (Value& value : graph.values) value.name = fresh_name(names, value.name);
  graph.nodes = std::move(nodes_);
  bool writes = false;
  for (Node& node : graph.nodes) {
    writes = writes || node.writes();
    for (Operand& each : node.operands) {
      if (each.value != Operand::kAbsent && each.value != Operand::kNumber)
        each.value = renumbered(each.value);
    }
    for (ValueId& each : node.outputs) each = renumbered(each);
  }
  if (writes) say_shared_memory(inputs_, graph.inputs);
  for (const Tensor& each : outputs) graph.outputs.push_back(Operand::of(renumbered(ids_.at(each.impl()))));
  return graph;
}

}  // namespace kiln::jit
