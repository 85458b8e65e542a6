// Numbers of the program that vary from call to call, and sizes that are symbols: in operands, attributes and
// types of the noted nodes.
#include <algorithm>

#include "jit/shape_rules.h"
#include "jit/trace/record.h"
#include "tensor/core_ops.h"
#include "tensor/tape/record.h"

namespace kiln::jit {
namespace {

// Does the node lack a tensor that could not be followed? It is no part of the graph then, and has no types.
bool lacks_operand(const Node& node) {
  std::size_t at = 0;
  for (const Parameter& parameter : node.op->signature.parameters) {
    if (parameter.kind > ArgKind::OptionalTensorList) continue;
    if (parameter.kind > ArgKind::OptionalTensor) return false;
    const Operand& operand = node.operands[at++];
    if (parameter.kind == ArgKind::Tensor && operand.value == Operand::kAbsent && !operand.is_number())
      return true;
  }
  return false;
}

}  // namespace

void Recorder::add_number(const Tensor& number, std::string name) {
  ids_.emplace(number.impl(), input_id(inputs_.size()));
  inputs_.push_back(number);
  if (keeps_given_) given_.push_back(number);
  input_roles_.emplace_back();
  input_values_.push_back({std::move(name), to_type(number.type())});
}

Dims Recorder::sizes_of(const Tensor& x) const {
  if (const auto id = ids_.find(x.impl()); id != ids_.end()) {
    const auto found = symbolic_types_.find(id->second);
    if (found != symbolic_types_.end()) return found->second.sizes;
  }
  return (x.sizes());
}

// Replaces numbers that are inputs in this instruction by these inputs. So the tape saves the inputs, too.
SmallVector<Tensor, 4> Recorder::with_expected(Inputs given) {
  SmallVector<Tensor, 4> inputs(given.begin(), given.end());
  if (in_body_) return inputs;
  for (Tensor& x : inputs) {
    if (!x || !x.is_number()) continue;
    for (ExpectedNumber& each : expected) {
      const Tensor& number = each.number;
      if (!number || each.is_ambiguous || number.dtype() != x.dtype()) continue;
      const bool same = is_float(x.dtype()) ? same_number(number.item_float(), x.item_float())
                                            : number.item_int() == x.item_int();
      if (!same) continue;
      each.used = true;
      x = number;
      break;
    }
  }
  return inputs;
}

// x + alpha * y with a varying alpha becomes a product and a sum. These have the same bits in types whose
// arithmetic is not in a wider type. Not under the tape: a derivative would use the alpha of this call.
void Recorder::follow_factor(Node& node, Inputs inputs, const Attrs& attrs) {
  const bool adds = node.op == &core_ops().add_alpha;
  if ((!adds && node.op != &core_ops().sub_alpha) || in_body_ || tape::sees(inputs)) return;
  const DType dtype = inputs[0].dtype();
  if (inputs[1].is_number() || dtype != inputs[1].dtype()) return;
  if (dtype != DType::F32 && dtype != DType::F64) return;
  const auto* alpha = std::get_if<double>(&attrs.at("alpha"));
  for (ExpectedNumber& each : expected) {
    const bool fits = alpha != nullptr && each.number && is_float(each.number.dtype()) &&
                      same_number(each.number.item_float(), *alpha);
    if (!fits) continue;
    each.used = true;
    Node product;
    product.op = &core_ops().mul;
    product.place = place_;
    product.operands = {node.operands[1], {ids_.at(each.number.impl()), false}};
    const int id = add_value_like(node.operands[1].value);
    product.outputs.push_back(id);
    append(std::move(product));
    node.op = adds ? &core_ops().add : &core_ops().sub;
    node.attrs.clear();
    node.operands[1] = {id, false};
    return;
  }
}

// The body of an op may use its attributes in any way, so varying numbers among them are fixed.
void Recorder::fix_expected(const Attrs& attrs) {
  for (const Attr& attr : attrs.values()) {
    const auto* real = std::get_if<double>(&attr);
    if (real == nullptr) continue;
    for (ExpectedNumber& each : expected) {
      if (each.number && is_float(each.number.dtype()) && same_number(each.number.item_float(), *real))
        each.is_fixed = true;
    }
  }
}

// A list that lies among the arguments as it is, in one way: its items are those. `Nowhere`: it is made of
// them in another way, as sizes with -1 in them.
Recorder::Followed Recorder::follow_in_order(Dims& list) {
  if (list.empty() || expected_order.size() < list.size()) return Followed::Nowhere;
  std::optional<Dims> found;
  for (std::size_t first = 0; first + list.size() <= expected_order.size(); ++first) {
    const auto begin = expected_order.begin() + static_cast<std::ptrdiff_t>(first);
    Dims here(begin, begin + static_cast<std::ptrdiff_t>(list.size()));
    if (!same(evaluate(here, hints_), list)) continue;
    if (found && !same(*found, here)) return Followed::No;
    found = std::move(here);
  }
  if (!found) return Followed::Nowhere;
  if (!has_symbols(*found)) return Followed::No;
  for (ExpectedNumber& each : expected) {
    const auto is_item = [&each](Dim item) { return same(item, each.size); };
    each.used = each.used || std::any_of(found->begin(), found->end(), is_item);
  }
  list = std::move(*found);
  return Followed::Yes;
}

std::vector<Attr> Recorder::symbolic_attrs(const Op& op, const std::vector<Attr>& attrs) {
  std::vector<Attr> result = attrs;
  const auto replace = [&](Dim& size) {
    if (!size.is_known()) return false;
    for (ExpectedNumber& each : expected) {
      if (each.size.is_known() || each.is_ambiguous || each.value != size.known()) continue;
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
    Attr& attr = result[at++];
    if (parameter.kind == K::Int || (parameter.kind == K::Number && !op.has(kFixesNumbers))) {
      if (auto* size = std::get_if<Dim>(&attr)) any = replace(*size) || any;
    } else if (parameter.kind == K::Ints) {
      auto* sizes = std::get_if<Dims>(&attr);
      const Followed followed = sizes != nullptr ? follow_in_order(*sizes) : Followed::No;
      any = any || followed == Followed::Yes;
      if (followed != Followed::Nowhere) continue;
      for (Dim& each : *sizes) any = replace(each) || any;
    }
  }
  return any ? result : std::vector<Attr>();
}

Type Recorder::symbolic_type(const Operand& operand) const {
  if (operand.is_number()) {
    Type type = absent_type();
    if (std::holds_alternative<Dim>(operand.number)) type.dtype = DType::I64;
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

// Finds the types of a node's results where sizes are symbols, and what its rule asks of them.
void Recorder::find_symbolic(const Node& node) {
  if (node.is_constant()) return;
  std::vector<Attr> attrs = symbolic_attrs(*node.op, node.attrs);
  if (!attrs.empty()) symbolic_attrs_[nodes_.size()] = std::move(attrs);
  infer_symbolic(node, nodes_.size());
}

// The same for a node with its symbolic attributes known; `at`: its number among the nodes, maybe a future
// one.
void Recorder::infer_symbolic(const Node& node, std::size_t at) {
  const bool in_attrs = symbolic_attrs_.contains(at);
  const bool in_operands = std::any_of(node.operands.begin(), node.operands.end(), [&](const Operand& each) {
    return symbolic_types_.contains(each.value);
  });
  if ((!in_attrs && !in_operands) || lacks_operand(node)) return;
  std::vector<Type> operands;
  for (const Operand& each : node.operands) operands.push_back(symbolic_type(each));
  if (node.form == Form::Write && !node.writes_metadata()) {
    symbolic_types_[node.outputs[0]] = operands[0];
    return;
  }
  const Inferred inferred =
      infer_types(*node.op, operands, in_attrs ? symbolic_attrs_.at(at) : node.attrs, hints_);
  add_size_guards(size_guards_, inferred.guards);
  for (std::size_t k = 0; k < node.outputs.size() && k < inferred.types.size(); ++k) {
    if (!has_symbols(inferred.types[k].sizes)) continue;
    symbolic_types_[node.outputs[k]] = inferred.types[k];
  }
}

}  // namespace kiln::jit
